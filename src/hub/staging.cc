#include "hub/staging.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <system_error>
#include <vector>

#include "base/disk_space.h"
#include "base/files.h"
#include "hub/folders.h"

namespace lattice::hub {
namespace {

namespace fs = std::filesystem;

struct FolderContent {
  std::vector<fs::path> folders;  // from the top down, `folder` itself first
  std::vector<fs::path> files;
};

Result<FolderContent> Walk(const fs::path& folder) {
  FolderContent content{{folder}, {}};
  std::error_code code;
  fs::recursive_directory_iterator at(folder, code);
  for (; !code && at != fs::recursive_directory_iterator(); at.increment(code)) {
    std::error_code ignored;
    const bool is_folder = at->symlink_status(ignored).type() == fs::file_type::directory;
    (is_folder ? content.folders : content.files).push_back(at->path());
  }
  if (!code) return content;
  return Error{ErrorCode::kInvalidArgument,
               "cannot list " + folder.string() + ": " + code.message()};
}

/// Removes what does not belong to the model, and folders that this leaves empty.
Status Sweep(const FolderContent& content, const std::set<fs::path>& wanted) {
  for (const fs::path& file : content.files) {
    std::error_code code;
    if (!wanted.contains(file)) fs::remove(file, code);
    if (code) {
      return Error{ErrorCode::kInvalidArgument,
                   "cannot remove " + file.string() + ": " + code.message()};
    }
  }
  for (std::size_t i = content.folders.size(); i-- > 1;) {
    std::error_code ignored;  // a folder with files in it stays
    fs::remove(content.folders[i], ignored);
  }
  return Ok();
}

}  // namespace

Result<Staging> Staging::Open(const ModelCache& cache, const HubId& id,
                              const std::string& revision) {
  LATTICE_TRY_VOID(CheckRevision(revision));
  const fs::path model_folder = cache.ModelFolder(id);
  Staging staging(model_folder / (".partial-" + revision), model_folder / revision);
  LATTICE_TRY_VOID(MakeFolders(staging.folder_));
  return staging;
}

Status Staging::CheckSpace(std::uint64_t n_bytes) const {
  constexpr std::uint64_t kAir = std::uint64_t{64} << 20;
  Status fits = CheckDiskSpace(folder_, n_bytes, kAir);
  if (fits) return Ok();
  Error error = std::move(fits).error();
  error.message += "; make room, or choose another folder with LATTICE_MODEL_CACHE";
  return error;
}

Result<CachedModel> Staging::Commit(CachedModel model, const ModelLock&) {
  std::ranges::sort(model.files, {}, &CachedFile::path);
  std::set<fs::path> wanted;
  for (const CachedFile& file : model.files) wanted.insert(folder_ / file.path);
  LATTICE_TRY(const FolderContent content, Walk(folder_));
  LATTICE_TRY_VOID(Sweep(content, wanted));
  model.pulled_at = std::chrono::duration_cast<std::chrono::seconds>(
                        std::chrono::system_clock::now().time_since_epoch())
                        .count();
  LATTICE_TRY_VOID(WriteFileAtomically(folder_ / "manifest.json", ManifestText(model)));
  LATTICE_TRY_VOID(ReadManifest(folder_));  // every file is there, with its size
  std::error_code code;
  for (const fs::path& folder : content.folders) {
    if (fs::exists(folder, code)) LATTICE_TRY_VOID(SyncFolder(folder));
  }
  if (fs::exists(fs::symlink_status(target_, code))) LATTICE_TRY_VOID(RemoveFolder(target_));
  fs::rename(folder_, target_, code);
  if (code) {
    return Error{ErrorCode::kInvalidArgument,
                 "cannot rename " + folder_.string() + ": " + code.message()};
  }
  LATTICE_TRY_VOID(SyncFolder(target_.parent_path()));
  return ReadManifest(target_);
}

}  // namespace lattice::hub
