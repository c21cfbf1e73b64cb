#include "apps/available_memory.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string>

#include "base/files.h"

namespace lattice::apps {
namespace {

constexpr std::size_t kMaxFileBytes = 65536;

/// The first number at or after `from`.
std::optional<std::size_t> NumberIn(const std::string& text, std::size_t from) {
  const std::size_t at = text.find_first_of("0123456789", from);
  std::size_t value = 0;
  if (at == text.npos) return std::nullopt;
  const auto [end, code] = std::from_chars(text.data() + at, text.data() + text.size(), value);
  return code == std::errc() ? std::optional(value) : std::nullopt;
}

std::optional<std::size_t> NumberIn(const char* file) {
  const auto text = ReadFile(file, kMaxFileBytes);
  return text ? NumberIn(*text, 0) : std::nullopt;  // "max": no number, no limit
}

std::size_t SystemMemory() {
  const auto text = ReadFile("/proc/meminfo", kMaxFileBytes);
  constexpr std::string_view kKey = "MemAvailable:";
  const std::size_t at = text ? text->find(kKey) : std::string::npos;
  if (at != std::string::npos) {
    if (const auto kib = NumberIn(*text, at)) return *kib * 1024;
  }
  const long pages = sysconf(_SC_AVPHYS_PAGES);
  return pages < 0
             ? 0
             : static_cast<std::size_t>(pages) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::size_t GroupMemory() {
  const auto limit = NumberIn("/sys/fs/cgroup/memory.max");
  const auto used = NumberIn("/sys/fs/cgroup/memory.current");
  if (!limit || !used) return std::numeric_limits<std::size_t>::max();
  return *limit - std::min(*limit, *used);
}

}  // namespace

std::size_t AvailableMemory() { return std::min(SystemMemory(), GroupMemory()); }

}  // namespace lattice::apps
