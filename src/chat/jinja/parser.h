#pragma once

#include <memory>
#include <string_view>

#include "chat/jinja/ast.h"
#include "chat/jinja/limits.h"
#include "lattice/result.h"

namespace lattice::chat::jinja {

/// Parses a template with the statements that chat templates have: if, for (recursive, filtered,
/// else), break, continue, set, set blocks, macro, call, filter, with, generation, raw.
///
/// Errors  kCorruptData "line N: what is wrong"; kResourceExhausted for size and nesting;
///         kUnsupported for statements that load other templates (include, import, extends, block).
Result<std::shared_ptr<const Program>> Parse(std::string_view source, const Limits& limits);

}  // namespace lattice::chat::jinja
