#include "hub/model_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "hub/folders.h"

namespace lattice::hub {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(50);

Error LockError(const std::filesystem::path& file, const char* doing) {
  return Error{ErrorCode::kInvalidArgument,
               std::string("cannot ") + doing + " " + file.string() + ": " + std::strerror(errno)};
}

/// An open descriptor of the lock file, whose folder is made if needed.
Result<int> OpenLockFile(const std::filesystem::path& file) {
  LATTICE_TRY_VOID(MakeFolders(file.parent_path()));
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0 && errno != ENOENT) return LockError(file, "open");
  return fd;  // -1: the folder was removed in between
}

/// Whether `fd` is still what the path names: a remover may have unlinked it before we got the
/// lock.
bool IsCurrent(int fd, const std::filesystem::path& file) {
  struct stat held, named;
  return fstat(fd, &held) == 0 && lstat(file.c_str(), &named) == 0 && held.st_dev == named.st_dev &&
         held.st_ino == named.st_ino;
}

}  // namespace

Result<ModelLock> ModelLock::TryAcquire(const std::filesystem::path& model_folder) {
  const std::filesystem::path file = model_folder / kLockName;
  for (;;) {
    LATTICE_TRY(const int fd, OpenLockFile(file));
    if (fd < 0) continue;
    ModelLock lock(fd);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) return LockError(file, "lock");
      return Error{ErrorCode::kResourceExhausted,
                   "another process is changing " + model_folder.string() + "; try again later"};
    }
    if (IsCurrent(fd, file)) return lock;
  }
}

Result<ModelLock> ModelLock::Acquire(const std::filesystem::path& model_folder,
                                     const std::stop_token& stop, FunctionRef<void()> waiting) {
  for (bool told = false;; told = true) {
    Result<ModelLock> lock = TryAcquire(model_folder);
    if (lock || lock.error().code != ErrorCode::kResourceExhausted) return lock;
    if (!told) waiting();
    if (stop.stop_requested()) {
      return Error{ErrorCode::kCancelled, "cancelled while waiting for another process's download"};
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

ModelLock::~ModelLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace lattice::hub
