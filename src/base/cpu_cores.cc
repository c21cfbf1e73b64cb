#include "base/cpu_cores.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace lattice {
namespace {

namespace fs = std::filesystem;

constexpr double kUnknownCapacity = 1024;  // What Linux gives a machine's largest core.

/// The number that `text` begins with; false when it does not.
bool ReadNumber(std::string_view text, std::size_t& number) {
  return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
}

bool ReadFirstNumber(const fs::path& file, std::size_t& number) {
  std::ifstream in(file);
  std::string word;
  return static_cast<bool>(in >> word) && ReadNumber(word, number);
}

struct Core {
  std::size_t first;  // The lowest processor of the core.
  double capacity;
};

Core CoreOf(std::size_t processor, const fs::path& system) {
  const fs::path at = system / ("cpu" + std::to_string(processor));
  Core core = {processor, kUnknownCapacity};
  // "0,4" or "0-1": the first number is the lowest.
  ReadFirstNumber(at / "topology" / "thread_siblings_list", core.first);
  std::size_t capacity = 0;
  if (ReadFirstNumber(at / "cpu_capacity", capacity)) core.capacity = static_cast<double>(capacity);
  return core;
}

/// The quota of one group alone; 0: none.
std::size_t QuotaOf(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  std::string quota_text, period_text;  // Microseconds.
  std::size_t quota = 0, period = 0;
  if (!(file >> quota_text >> period_text)) return 0;
  if (!ReadNumber(quota_text, quota) || !ReadNumber(period_text, period)) return 0;
  return quota == 0 || period == 0 ? 0 : std::max<std::size_t>(1, quota / period);
}

std::vector<std::size_t> AllowedProcessors() {
  std::vector<std::size_t> allowed;
  cpu_set_t set;
  const bool known = sched_getaffinity(0, sizeof(set), &set) == 0;  // Not on above 1024 processors.
  const std::size_t n = known ? CPU_SETSIZE : std::thread::hardware_concurrency();
  for (std::size_t i = 0; i < n; ++i) {
    if (!known || CPU_ISSET(i, &set)) allowed.push_back(i);
  }
  return allowed;
}

/// The line "0::/path" of /proc/self/cgroup.
fs::path OwnGroup() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::")) return line.substr(3);
  }
  return "/";
}

}  // namespace

std::size_t CountCores(std::span<const std::size_t> allowed, const fs::path& system) {
  std::vector<Core> cores;
  for (const std::size_t processor : allowed) cores.push_back(CoreOf(processor, system));
  std::ranges::sort(cores, {}, &Core::first);
  const auto is_same = [](const Core& a, const Core& b) { return a.first == b.first; };
  cores.erase(std::unique(cores.begin(), cores.end(), is_same), cores.end());
  double largest = 0;
  for (const Core& core : cores) largest = std::max(largest, core.capacity);
  const auto n =
      std::ranges::count_if(cores, [&](const Core& core) { return core.capacity >= largest / 2; });
  return std::max<std::size_t>(1, static_cast<std::size_t>(n));
}

std::size_t QuotaProcessors(const fs::path& groups, const fs::path& own) {
  std::size_t least = QuotaOf(groups);
  fs::path at = groups;
  for (const fs::path& name : own.relative_path()) {
    at /= name;
    const std::size_t quota = QuotaOf(at);
    if (quota != 0) least = least == 0 ? quota : std::min(least, quota);
  }
  return least;
}

std::size_t UsableCores() {
  const std::size_t cores = CountCores(AllowedProcessors(), "/sys/devices/system/cpu");
  const std::size_t quota = QuotaProcessors("/sys/fs/cgroup", OwnGroup());
  return quota == 0 ? cores : std::min(cores, quota);
}

}  // namespace lattice
