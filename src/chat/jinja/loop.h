#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "chat/jinja/runtime.h"
#include "chat/jinja/value.h"

namespace lattice::chat::jinja {

struct Stmt;
class Scope;

/// The variable `loop` of one {% for %} that runs.
struct LoopState {
  ListRef list;            ///< What is visited.
  std::size_t index = 0;   ///< 0-based, of the item that is being visited.
  std::size_t depth0 = 0;  ///< Levels of recursion.
  const Stmt* statement = nullptr;
  Scope* outer = nullptr;               ///< Where the statement stands; for recursion.
  std::optional<Value> last_changed{};  ///< What loop.changed saw before.
};

/// loop.index, loop.first, ...; undefined without a reason when there is no such attribute.
Result<Value> LoopAttribute(Runtime& runtime, LoopState& loop, std::string_view name);

/// loop.cycle(...) and loop.changed(...).
Result<Value> CallLoopMethod(Runtime& runtime, LoopState& loop, std::string_view name,
                             const Arguments& arguments);

}  // namespace lattice::chat::jinja
