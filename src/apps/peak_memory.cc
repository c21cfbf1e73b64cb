#include "apps/peak_memory.h"

#include <fstream>
#include <string>

namespace lattice::apps {

// Not getrusage: its figure outlives exec, so that it may be the parent's.
std::uint64_t PeakBytes() {
  std::ifstream status("/proc/self/status");
  std::string key;
  while (status >> key) {
    std::uint64_t kilobytes = 0;
    if (key == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

}  // namespace lattice::apps
