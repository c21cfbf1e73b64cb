#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/mapped_file.h"

namespace lattice {
namespace {

Error SystemError(const std::filesystem::path& file, const char* doing) {
  const int code = errno;
  const bool full = code == ENOSPC || code == EDQUOT || code == EMFILE || code == ENFILE;
  return Error{full ? ErrorCode::kResourceExhausted : ErrorCode::kInvalidArgument,
               std::string("cannot ") + doing + " " + file.string() + ": " + std::strerror(code)};
}

bool WriteAll(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = write(fd, content.data(), content.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

Result<std::string> ReadFile(const std::filesystem::path& file, std::size_t max_bytes) {
  LATTICE_TRY(const MappedFile mapped, MappedFile::Open(file));
  const auto bytes = mapped.bytes();
  if (bytes.size() > max_bytes) {
    return Error{ErrorCode::kResourceExhausted, file.string() + " has " +
                                                    std::to_string(bytes.size()) +
                                                    " bytes, above the limit of " +
                                                    std::to_string(max_bytes)};
  }
  if (bytes.empty()) return std::string();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Status WriteFileAtomically(const std::filesystem::path& file, std::string_view content) {
  std::string temporary = file.string() + ".tmp-XXXXXX";
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return SystemError(temporary, "create");
  const bool written = WriteAll(fd, content) && fchmod(fd, 0644) == 0 && fsync(fd) == 0;
  if (!written) {
    Error error = SystemError(temporary, "write");
    close(fd);
    unlink(temporary.c_str());
    return error;
  }
  close(fd);
  if (rename(temporary.c_str(), file.c_str()) != 0) {
    Error error = SystemError(file, "replace");
    unlink(temporary.c_str());
    return error;
  }
  const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  const int folder_fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_fd >= 0) {
    fsync(folder_fd);
    close(folder_fd);
  }
  return Ok();
}

}  // namespace lattice
