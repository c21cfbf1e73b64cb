#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace lattice {

/// The cores that are worth a thread each, of the processors in `allowed`: hardware threads of one
/// core count once, and cores of less than half the largest one's capacity only where there are no
/// others. `system` is what Linux keeps at /sys/devices/system/cpu; what it does not say is taken
/// as one thread a core, all alike. At least 1.
std::size_t CountCores(std::span<const std::size_t> allowed, const std::filesystem::path& system);

/// Processors' worth of time that control groups grant, rounded down but at least 1; 0: no limit.
/// `groups` is where the file system of version 2 is mounted, `own` the process's group below it
/// ("/a/b"); the quota of each group on the way counts.
std::size_t QuotaProcessors(const std::filesystem::path& groups, const std::filesystem::path& own);

/// What of this machine the process may use: affinity mask and quota count.
std::size_t UsableCores();

}  // namespace lattice
