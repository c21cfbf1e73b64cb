#include "base/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace lattice {
namespace {

Error SystemError(const std::filesystem::path& file, const char* doing) {
  const int code = errno;
  return Error{
      code == ENOENT || code == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument,
      std::string("cannot ") + doing + " " + file.string() + ": " + std::strerror(code)};
}

}  // namespace

Result<InputFile> InputFile::Open(const std::filesystem::path& file) {
  // O_NONBLOCK: opening a pipe must not wait for its writer.
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return SystemError(file, "open");
  InputFile opened(file, fd);
  struct stat info = {};
  if (fstat(opened.fd_, &info) != 0) return SystemError(file, "examine");
  if (!S_ISREG(info.st_mode)) {
    return Error{ErrorCode::kInvalidArgument, file.string() + " is not a regular file"};
  }
  opened.size_ = static_cast<std::size_t>(info.st_size);
  opened.modified_ns_ = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  return opened;
}

InputFile::~InputFile() {
  if (fd_ >= 0) close(fd_);
}

Status InputFile::Read(std::size_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t n = pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemError(file_, "read");
    if (n == 0) {
      return Error{ErrorCode::kCorruptData, file_.string() + " ends after " +
                                                std::to_string(offset) + " of " +
                                                std::to_string(size_) + " bytes: it was cut"};
    }
    offset += static_cast<std::size_t>(n);
    out = out.subspan(static_cast<std::size_t>(n));
  }
  return Ok();
}

}  // namespace lattice
