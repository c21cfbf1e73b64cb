#pragma once

#include <cstddef>

namespace lattice::apps {

/// Bytes that a program started now could take: free memory and what the system would give back of
/// its file cache, or what a control group leaves if that is less.
std::size_t AvailableMemory();

}  // namespace lattice::apps
