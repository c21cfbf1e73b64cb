#pragma once

#include <filesystem>
#include <stop_token>
#include <utility>

#include "base/function_ref.h"
#include "lattice/result.h"

namespace lattice::hub {

/// Holds MODEL_FOLDER/.lock (flock) until destroyed, so that one process at a time changes a model
/// in the cache. The system lets go of it when the process dies, however it dies.
class ModelLock {
 public:
  /// Makes the folder if needed and waits for the lock. `waiting` is called once if another process
  /// holds it. kCancelled when `stop` is requested meanwhile.
  static Result<ModelLock> Acquire(const std::filesystem::path& model_folder,
                                   const std::stop_token& stop, FunctionRef<void()> waiting);
  /// The same without waiting: kResourceExhausted when another process holds it.
  static Result<ModelLock> TryAcquire(const std::filesystem::path& model_folder);

  ModelLock(ModelLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ModelLock& operator=(ModelLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~ModelLock();

 private:
  explicit ModelLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

inline constexpr char kLockName[] = ".lock";

}  // namespace lattice::hub
