#include "hub/model_cache.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "hub/folders.h"
#include "hub/model_lock.h"

namespace lattice::hub {
namespace {

namespace fs = std::filesystem;

bool IsHidden(const fs::path& path) { return path.filename().native().starts_with('.'); }

/// The folders right inside `folder`, hidden ones too; nothing when it cannot be read. Bounded.
std::vector<fs::path> SubFolders(const fs::path& folder) {
  constexpr std::size_t kMaxEntries = 100'000;
  std::vector<fs::path> found;
  std::error_code code;
  fs::directory_iterator at(folder, code);
  for (; !code && at != fs::directory_iterator() && found.size() < kMaxEntries;
       at.increment(code)) {
    std::error_code ignored;
    if (at->symlink_status(ignored).type() == fs::file_type::directory) found.push_back(at->path());
  }
  std::ranges::sort(found);
  return found;
}

/// Whole copies inside one model's folder, the one pulled last first.
std::vector<CachedModel> Copies(const fs::path& model_folder) {
  std::vector<CachedModel> copies;
  for (const fs::path& folder : SubFolders(model_folder)) {
    if (IsHidden(folder)) continue;
    if (Result<CachedModel> model = ReadManifest(folder)) copies.push_back(std::move(*model));
  }
  std::ranges::stable_sort(copies, std::ranges::greater{}, &CachedModel::pulled_at);
  return copies;
}

std::uint64_t FolderBytes(const fs::path& folder) {
  std::uint64_t total = 0;
  std::error_code code;
  fs::recursive_directory_iterator at(folder, code);
  for (; !code && at != fs::recursive_directory_iterator(); at.increment(code)) {
    std::error_code ignored;
    if (at->symlink_status(ignored).type() != fs::file_type::regular) continue;
    const auto size = at->file_size(ignored);
    if (!ignored) total += size;
  }
  return total;
}

}  // namespace

fs::path DefaultCacheFolder() {
  std::array<char, 16384> buffer;
  passwd entry{};
  passwd* found = nullptr;
  const bool known = getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 &&
                     found != nullptr && found->pw_dir != nullptr && found->pw_dir[0] == '/';
  return known ? fs::path(found->pw_dir) / ".lattice" / "models" : fs::path(".lattice/models");
}

Result<std::vector<CachedModel>> ModelCache::List() const {
  std::vector<CachedModel> models;
  for (const fs::path& folder : SubFolders(root_)) {
    if (IsHidden(folder)) continue;
    for (CachedModel& copy : Copies(folder)) models.push_back(std::move(copy));
  }
  return models;
}

Result<CachedModel> ModelCache::Find(const HubId& id, std::string_view revision) const {
  for (CachedModel& copy : Copies(ModelFolder(id))) {
    if (copy.hub_id != id.text()) continue;
    if (revision.empty() || copy.revision == revision || copy.requested_revision == revision) {
      return std::move(copy);
    }
  }
  const std::string which = revision.empty() ? "" : " at revision " + std::string(revision);
  return Error{ErrorCode::kNotFound, id.text() + which + " is not in the model cache " +
                                         root_.string() + "; fetch it with: lattice pull " +
                                         id.text()};
}

Result<std::uint64_t> ModelCache::Remove(const HubId& id, std::string_view revision) const {
  const fs::path model_folder = ModelFolder(id);
  std::vector<fs::path> doomed;
  if (revision.empty()) {
    doomed = SubFolders(model_folder);
  } else if (Result<CachedModel> copy = Find(id, revision)) {
    doomed.push_back(copy->folder);
  }
  if (doomed.empty()) {
    return Error{ErrorCode::kNotFound,
                 id.text() + (revision.empty() ? "" : " at revision " + std::string(revision)) +
                     " is not in the model cache " + root_.string()};
  }
  LATTICE_TRY(const ModelLock lock, ModelLock::TryAcquire(model_folder));
  std::uint64_t freed = 0;
  for (const fs::path& folder : doomed) {
    const std::uint64_t size = FolderBytes(folder);
    LATTICE_TRY_VOID(RemoveFolder(folder));
    freed += size;
  }
  if (SubFolders(model_folder).empty()) {  // nothing left but the lock, which is still ours
    std::error_code code;
    fs::remove(model_folder / kLockName, code);
    fs::remove(model_folder, code);  // stays if somebody has just put something there
  }
  return freed;
}

}  // namespace lattice::hub
