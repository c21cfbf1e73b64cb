#include "hub/folders.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <string>
#include <system_error>

namespace lattice::hub {

namespace fs = std::filesystem;

Status MakeFolders(const fs::path& folder) {
  std::error_code code;
  fs::create_directories(folder, code);
  if (!code) return Ok();
  return Error{ErrorCode::kInvalidArgument,
               "cannot make folder " + folder.string() + ": " + code.message()};
}

Status RemoveFolder(const fs::path& folder) {
  fs::path away = folder;
  std::error_code code;
  if (!folder.filename().native().starts_with(".removed-")) {
    std::random_device random;
    away.replace_filename(".removed-" + folder.filename().string() + "-" +
                          std::to_string(random()));
    fs::rename(folder, away, code);
  }
  if (!code) fs::remove_all(away, code);
  if (!code) return Ok();
  return Error{ErrorCode::kInvalidArgument,
               "cannot remove " + folder.string() + ": " + code.message()};
}

Status SyncFolder(const fs::path& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  const int code = errno;
  if (fd >= 0) close(fd);
  if (synced) return Ok();
  return Error{ErrorCode::kInvalidArgument,
               "cannot sync folder " + folder.string() + ": " + std::strerror(code)};
}

}  // namespace lattice::hub
