#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <string_view>
#include <system_error>

#include "base/files.h"

namespace lattice {
namespace {

constexpr std::string_view kTemporary = ".tmp-";
constexpr std::size_t kWriteBytes = std::size_t{16} << 20;

Error SystemError(const std::filesystem::path& file, const char* doing) {
  const int code = errno;
  const bool full = code == ENOSPC || code == EDQUOT || code == EMFILE || code == ENFILE;
  return Error{full ? ErrorCode::kResourceExhausted : ErrorCode::kInvalidArgument,
               std::string("cannot ") + doing + " " + file.string() + ": " + std::strerror(code)};
}

}  // namespace

Result<AtomicFile> AtomicFile::Create(const std::filesystem::path& file) {
  struct stat info = {};
  if (stat(file.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return Error{ErrorCode::kInvalidArgument, file.string() + " is not a regular file"};
  }
  // Not mkostemp: its files are for their owner alone, and the user's umask should decide.
  std::random_device random;
  for (int tries = 0;; ++tries) {
    std::string temporary = file.string() + std::string(kTemporary) + std::to_string(random());
    const int fd = open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
      // Where a file system knows no locks, others may take it for abandoned: Commit would fail.
      static_cast<void>(flock(fd, LOCK_EX | LOCK_NB));
      return AtomicFile(file, std::move(temporary), fd);
    }
    if (errno != EEXIST || tries == 100) return SystemError(file, "create a temporary file beside");
  }
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(temporary_.c_str());
}

Status AtomicFile::Append(std::string_view content) {
  LATTICE_CHECK(fd_ >= 0);
  while (!content.empty()) {
    const std::size_t n = std::min(content.size(), kWriteBytes - waiting_.size());
    waiting_.append(content.substr(0, n));
    content.remove_prefix(n);
    if (waiting_.size() == kWriteBytes) LATTICE_TRY_VOID(Flush());
  }
  return Ok();
}

Status AtomicFile::Flush() {
  std::string_view content = waiting_;
  while (!content.empty()) {
    const ssize_t n = write(fd_, content.data(), content.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return SystemError(temporary_, "write");
    }
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  waiting_.clear();
  return Ok();
}

Status AtomicFile::Append(std::span<const std::byte> content) {
  if (content.empty()) return Ok();
  return Append(std::string_view(reinterpret_cast<const char*>(content.data()), content.size()));
}

Status AtomicFile::Overwrite(std::size_t offset, std::string_view content) {
  LATTICE_CHECK(fd_ >= 0);
  LATTICE_TRY_VOID(Flush());
  while (!content.empty()) {
    const ssize_t n = pwrite(fd_, content.data(), content.size(), static_cast<off_t>(offset));
    if (n < 0) {
      if (errno == EINTR) continue;
      return SystemError(temporary_, "write");
    }
    content.remove_prefix(static_cast<std::size_t>(n));
    offset += static_cast<std::size_t>(n);
  }
  return Ok();
}

Status AtomicFile::Commit() {
  LATTICE_CHECK(fd_ >= 0);
  LATTICE_TRY_VOID(Flush());
  if (fsync(fd_) != 0) return SystemError(temporary_, "write");
  if (rename(temporary_.c_str(), file_.c_str()) != 0) return SystemError(file_, "replace");
  close(std::exchange(fd_, -1));
  // The rename itself must survive a power cut. A folder that cannot be synced is no reason to
  // fail: the new file is in place.
  static_cast<void>(SyncFolder(file_.has_parent_path() ? file_.parent_path() : "."));
  return Ok();
}

void RemoveAbandonedFiles(const std::filesystem::path& folder) {
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
