#include "base/mapped_output.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <string_view>
#include <system_error>

#include "base/files.h"
#include "lattice/check.h"

namespace lattice {
namespace {

constexpr std::string_view kTemporary = ".partial-";
constexpr std::size_t kStep = std::size_t{16} << 20;  // of disk space: a multiple of any page size

Error SystemError(const std::filesystem::path& file, const char* doing, int code) {
  const bool full = code == ENOSPC || code == EDQUOT || code == EMFILE || code == ENFILE ||
                    code == ENOMEM || code == EFBIG;
  return Error{full ? ErrorCode::kResourceExhausted : ErrorCode::kInvalidArgument,
               std::string("cannot ") + doing + " " + file.string() + ": " + std::strerror(code)};
}

/// Takes disk space, and makes the file so long. Not posix_fallocate, which may write every block.
int TakeSpace([[maybe_unused]] int fd, [[maybe_unused]] std::size_t begin,
              [[maybe_unused]] std::size_t end) {
#if defined(__linux__)
  while (fallocate(fd, 0, static_cast<off_t>(begin), static_cast<off_t>(end - begin)) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
#else
  return ENOTSUP;
#endif
}

}  // namespace

void MappedOutput::Swap(MappedOutput& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(temporary_, other.temporary_);
  std::swap(fd_, other.fd_);
  std::swap(data_, other.data_);
  std::swap(reserved_, other.reserved_);
  std::swap(allocated_, other.allocated_);
  std::swap(size_, other.size_);
}

Result<MappedOutput> MappedOutput::Create(const std::filesystem::path& file,
                                          std::size_t max_bytes) {
  MappedOutput output;
  output.file_ = file;
  std::random_device random;
  std::string name = file.string() + std::string(kTemporary) + std::to_string(random());
  output.fd_ = open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (output.fd_ < 0) return SystemError(file, "create a temporary file beside", errno);
  output.temporary_ = std::move(name);
  // Whoever tidies up may hold the lock for a moment: then the file is about to be removed.
  if (flock(output.fd_, LOCK_EX | LOCK_NB) != 0) return SystemError(file, "lock", errno);
  const std::size_t reserved = (std::max(max_bytes, kStep) + kStep - 1) / kStep * kStep;
  void* data = mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_SHARED, output.fd_, 0);
  if (data == MAP_FAILED) return SystemError(file, "map", errno);
  output.data_ = static_cast<std::byte*>(data);
  output.reserved_ = reserved;
  return output;
}

MappedOutput::~MappedOutput() {
  Discard();
  if (data_ != nullptr) munmap(data_, reserved_);
}

Status MappedOutput::Allocate(std::size_t end) {
  if (end <= allocated_) return Ok();
  const std::size_t goal = (end + kStep - 1) / kStep * kStep;
  const int code = TakeSpace(fd_, allocated_, goal);
  if (code != 0) return SystemError(file_, "take disk space for", code);
  allocated_ = goal;
  return Ok();
}

Result<std::span<std::byte>> MappedOutput::Extend(std::size_t n_bytes) {
  LATTICE_CHECK(!temporary_.empty());
  if (n_bytes > reserved_ - size_) {
    return Error{ErrorCode::kResourceExhausted,
                 file_.string() + " would be longer than " + std::to_string(reserved_) + " bytes"};
  }
  LATTICE_TRY_VOID(Allocate(size_ + n_bytes));
  const std::span<std::byte> next(data_ + size_, n_bytes);
  size_ += n_bytes;
  return next;
}

Status MappedOutput::Commit() {
  LATTICE_CHECK(!temporary_.empty());
  if (ftruncate(fd_, static_cast<off_t>(size_)) != 0) return SystemError(file_, "cut", errno);
  if (fsync(fd_) != 0) return SystemError(file_, "write", errno);
  if (rename(temporary_.c_str(), file_.c_str()) != 0) return SystemError(file_, "replace", errno);
  temporary_.clear();
  close(std::exchange(fd_, -1));
  static_cast<void>(SyncFolder(file_.has_parent_path() ? file_.parent_path() : "."));
  mprotect(data_, reserved_, PROT_READ);
  return Ok();
}

void MappedOutput::Discard() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
  temporary_.clear();
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

void RemoveAbandonedOutputs(const std::filesystem::path& folder) {
  std::error_code code;
  std::filesystem::directory_iterator at(folder, code);
  for (; !code && at != std::filesystem::directory_iterator(); at.increment(code)) {
    if (at->path().filename().native().find(kTemporary) == std::string::npos) continue;
    const int fd = open(at->path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) continue;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) unlink(at->path().c_str());
    close(fd);
  }
}

}  // namespace lattice
