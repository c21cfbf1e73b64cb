#pragma once

#include <filesystem>
#include <string>

#include "hub/model_cache.h"
#include "hub/model_lock.h"
#include "lattice/result.h"

namespace lattice::hub {

/// The folder in which one pull puts a model together, while it holds the model's lock. Only Commit
/// makes it visible. What was begun stays there for the next pull.
class Staging {
 public:
  /// CACHE/owner--name/.partial-REVISION, as an earlier pull left it.
  static Result<Staging> Open(const ModelCache& cache, const HubId& id,
                              const std::string& revision);

  const std::filesystem::path& folder() const { return folder_; }

  /// kResourceExhausted unless `n_bytes` more, and some air, fit on the disk.
  Status CheckSpace(std::uint64_t n_bytes) const;

  /// Drops files that `model` does not list, writes manifest.json, syncs everything and renames the
  /// folder to its revision. The lock shows that the caller holds it.
  Result<CachedModel> Commit(CachedModel model, const ModelLock& lock);

 private:
  Staging(std::filesystem::path folder, std::filesystem::path target)
      : folder_(std::move(folder)), target_(std::move(target)) {}
  std::filesystem::path folder_, target_;
};

}  // namespace lattice::hub
