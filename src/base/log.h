#pragma once

#include <functional>
#include <string_view>

namespace lattice {

enum class LogLevel { kDebug, kInfo, kWarning };

/// Where the library's remarks go. The library never prints; an empty sink drops them.
using LogSink = std::function<void(LogLevel level, std::string_view message)>;

/// Called now and then during long work: done and total in the unit of that work (bytes, rows).
/// total is 0 when it is not known. Called from one thread at a time.
using ProgressSink =
    std::function<void(std::string_view what, std::size_t done, std::size_t total)>;

}  // namespace lattice
