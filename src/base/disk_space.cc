#include "base/disk_space.h"

#include <string>
#include <system_error>

namespace lattice {
namespace {

std::string Mib(std::uint64_t n_bytes) { return std::to_string(n_bytes >> 20) + " MiB"; }

}  // namespace

Result<DiskSpace> DiskSpaceOf(const std::filesystem::path& folder) {
  std::error_code code;
  const std::filesystem::space_info space = std::filesystem::space(folder, code);
  if (code) return Error{ErrorCode::kNotFound, folder.string() + ": " + code.message()};
  return DiskSpace{space.capacity, space.available};
}

Status CheckDiskSpace(const std::filesystem::path& folder, std::uint64_t n_bytes,
                      std::uint64_t kept_free) {
  const auto space = DiskSpaceOf(folder);
  if (!space || space->Fits(n_bytes, kept_free)) return Ok();
  std::string message = Mib(n_bytes) + " are needed, and the disk of " + folder.string() +
                        " has only " + Mib(space->available) + " left";
  if (kept_free != 0) message += ", of which " + Mib(kept_free) + " stay free";
  return Error{ErrorCode::kResourceExhausted, message};
}

}  // namespace lattice
