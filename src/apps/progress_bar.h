#pragma once

#include <cstdint>
#include <string>

#include "base/log.h"

namespace lattice::apps {

enum class ProgressUnit : std::uint8_t { kBytes, kItems };

/// A sink that shows progress on stderr: a bar that is redrawn when stderr is a terminal; otherwise
/// a line now and then, at most eleven in all. The line is finished when done reaches total.
ProgressSink MakeProgressSink(ProgressUnit unit);

/// "86.7 MB" (powers of ten).
std::string ByteText(std::uint64_t n_bytes);

}  // namespace lattice::apps
