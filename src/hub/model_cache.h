#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "hub/model_names.h"
#include "lattice/result.h"

namespace lattice::hub {

/// One file of a cached model.
struct CachedFile {
  std::string path;  ///< Relative to the model's folder, '/' between parts.
  std::uint64_t size = 0;
  std::string sha256;  ///< Lower-case hexadecimal digits, taken from the bytes on disk.
};

/// What manifest.json in a model's folder says. It is written before the folder gets its final
/// name, so a folder that has it is whole.
struct CachedModel {
  std::string hub_id;              ///< "owner/name"
  std::string revision;            ///< The commit, or "package-NAME-VERSION": the folder's name.
  std::string requested_revision;  ///< What it was asked for as: "main", a tag, ...
  std::string source;              ///< "hub ENDPOINT" or "package NAME VERSION".
  std::int64_t pulled_at = 0;      ///< Seconds since 1970, UTC.
  std::vector<CachedFile> files;   ///< In the order of their paths.
  std::filesystem::path folder;    ///< Not in the manifest: where it was found.

  std::uint64_t size_bytes() const;
};

/// ~/.lattice/models of the user that this process runs as, by the password database; the current
/// folder's .lattice/models when there is no such user.
std::filesystem::path DefaultCacheFolder();

/// The folder of pulled models:
///
///     CACHE/owner--name/REVISION/          a whole model and its manifest.json
///     CACHE/owner--name/.partial-REVISION/ what an unfinished pull has so far
///     CACHE/owner--name/.lock              held (flock) by whoever changes that model
///
/// A model appears, and disappears, by one rename. Names that start with '.' are never models.
class ModelCache {
 public:
  explicit ModelCache(std::filesystem::path root) : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path ModelFolder(const HubId& id) const { return root_ / id.folder_name(); }

  /// All whole models, by hub id, newest pull first. Folders that hold no readable manifest are
  /// left out. No cache folder: none.
  Result<std::vector<CachedModel>> List() const;

  /// The whole copy of `id` whose revision, or requested revision, is `revision`; any revision when
  /// that is empty. Of several, the one pulled last. kNotFound when there is none.
  Result<CachedModel> Find(const HubId& id, std::string_view revision = {}) const;

  /// Removes all copies of `id` (or one revision) with what unfinished pulls left, and returns the
  /// bytes freed. A process that has a model loaded keeps its pages: files are unlinked, never
  /// shortened. kNotFound when nothing was there.
  Result<std::uint64_t> Remove(const HubId& id, std::string_view revision = {}) const;

 private:
  std::filesystem::path root_;
};

/// Reads and checks FOLDER/manifest.json: every file that it lists is there with its size.
Result<CachedModel> ReadManifest(const std::filesystem::path& folder);
std::string ManifestText(const CachedModel& model);

}  // namespace lattice::hub
