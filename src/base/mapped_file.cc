#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
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

Result<MappedFile> MappedFile::Open(const std::filesystem::path& file) {
  // O_NONBLOCK: opening a pipe must not wait for its writer.
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return SystemError(file, "open");
  struct stat info = {};
  if (fstat(fd, &info) != 0) {
    Error error = SystemError(file, "examine");
    close(fd);
    return error;
  }
  if (!S_ISREG(info.st_mode)) {
    close(fd);
    return Error{ErrorCode::kInvalidArgument, file.string() + " is not a regular file"};
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) {  // mmap refuses empty mappings.
    close(fd);
    return MappedFile(nullptr, 0);
  }
  void* data = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) {
    Error error = SystemError(file, "map");
    close(fd);
    return error;
  }
  close(fd);
  return MappedFile(static_cast<const std::byte*>(data), size);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::Release(std::span<const std::byte> part) const {
  // Only whole pages inside `part`: a neighbour's bytes may share the outer ones.
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(part.data()) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(part.data()) + part.size()) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace lattice
