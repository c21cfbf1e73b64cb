#pragma once

#include <cstdint>

namespace lattice::apps {

/// The most memory that this process has had in use at once, file pages included; 0 where the
/// system does not say.
std::uint64_t PeakBytes();

}  // namespace lattice::apps
