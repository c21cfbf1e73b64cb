#pragma once

#include "chat/jinja/runtime.h"
#include "chat/jinja/value.h"

namespace lattice::chat::jinja {

/// `format % values` of Python: %s %r %d %i %u %f %e %g %x %X %o %c %% with flags, width,
/// precision.
Result<Value> PercentFormat(Runtime& runtime, const Text& format, const Value& values);

/// `format.format(...)`: {}, {0}, {name}, {name.attribute}, {0[key]}, !r and !s, and the usual
/// specifications ([[fill]align][sign][0][width][,][.precision][type]).
Result<Value> BraceFormat(Runtime& runtime, const Text& format, const Arguments& arguments);

/// Wall-clock time by Python's strftime letters, English names.
std::string FormatTime(std::string_view format, const CivilTime& time);

}  // namespace lattice::chat::jinja
