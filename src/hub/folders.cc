#include "hub/folders.h"

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

}  // namespace lattice::hub
