#include <boost/json.hpp>
#include <limits>
#include <system_error>

#include "base/files.h"
#include "base/json.h"
#include "base/sha256.h"
#include "hub/file_paths.h"
#include "hub/model_cache.h"

namespace lattice::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kFormatVersion = 1;
constexpr std::size_t kMaxManifestBytes = std::size_t{4} << 20;

Result<CachedFile> ParseFile(const JsonView& entry) {
  CachedFile file;
  LATTICE_TRY(const JsonView path, entry.Get("path"));
  LATTICE_TRY(file.path, path.String());
  LATTICE_TRY_VOID(CheckFilePath(file.path));
  LATTICE_TRY(const JsonView size, entry.Get("size"));
  LATTICE_TRY(const std::int64_t n, size.Int(0, std::numeric_limits<std::int64_t>::max()));
  file.size = static_cast<std::uint64_t>(n);
  LATTICE_TRY(const JsonView hash, entry.Get("sha256"));
  LATTICE_TRY(file.sha256, hash.String());
  if (!IsHex(file.sha256, 64)) return hash.Complain("expected 64 hexadecimal digits");
  return file;
}

Status CheckOnDisk(const fs::path& folder, const CachedFile& file) {
  const fs::path path = folder / file.path;
  std::error_code code;
  if (fs::symlink_status(path, code).type() != fs::file_type::regular) {
    return Error{ErrorCode::kCorruptData, path.string() + " is missing; pull the model again"};
  }
  const auto size = fs::file_size(path, code);
  if (code || size != file.size) {
    return Error{ErrorCode::kCorruptData, path.string() + " has " + std::to_string(size) +
                                              " bytes instead of " + std::to_string(file.size) +
                                              "; remove the model and pull it again"};
  }
  return Ok();
}

}  // namespace

std::uint64_t CachedModel::size_bytes() const {
  std::uint64_t total = 0;
  for (const CachedFile& file : files) total += file.size;
  return total;
}

Result<CachedModel> ReadManifest(const fs::path& folder) {
  const fs::path path = folder / "manifest.json";
  LATTICE_TRY(const std::string text, ReadFile(path, kMaxManifestBytes));
  LATTICE_TRY(const boost::json::value document, ParseJson(text));
  const JsonView root(document, path.string());
  LATTICE_TRY(const JsonView version, root.Get("lattice_manifest"));
  LATTICE_TRY_VOID(version.Int(kFormatVersion, kFormatVersion));
  CachedModel model;
  model.folder = folder;
  LATTICE_TRY(const JsonView hub_id, root.Get("hub_id"));
  LATTICE_TRY(const std::string_view id_text, hub_id.String());
  LATTICE_TRY(const HubId id, HubId::Parse(id_text));
  model.hub_id = id.text();
  LATTICE_TRY(model.revision, root.StringOr("revision", ""));
  LATTICE_TRY(model.requested_revision, root.StringOr("requested_revision", ""));
  LATTICE_TRY(model.source, root.StringOr("source", ""));
  LATTICE_TRY(model.pulled_at, root.IntOr("pulled_at", 0, 0, std::int64_t{1} << 40));
  LATTICE_TRY(const JsonView files, root.Get("files"));
  LATTICE_TRY(const std::vector<JsonView> entries, files.Array());
  for (const JsonView& entry : entries) {
    LATTICE_TRY(CachedFile file, ParseFile(entry));
    LATTICE_TRY_VOID(CheckOnDisk(folder, file));
    model.files.push_back(std::move(file));
  }
  return model;
}

std::string ManifestText(const CachedModel& model) {
  boost::json::array files;
  for (const CachedFile& file : model.files) {
    files.push_back(
        boost::json::object{{"path", file.path}, {"size", file.size}, {"sha256", file.sha256}});
  }
  const boost::json::object root{{"lattice_manifest", kFormatVersion},
                                 {"hub_id", model.hub_id},
                                 {"revision", model.revision},
                                 {"requested_revision", model.requested_revision},
                                 {"source", model.source},
                                 {"pulled_at", model.pulled_at},
                                 {"files", std::move(files)}};
  return boost::json::serialize(root) + "\n";
}

}  // namespace lattice::hub
