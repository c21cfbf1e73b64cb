#include "chat/jinja/loop.h"

#include "chat/jinja/operators.h"

namespace lattice::chat::jinja {

Result<Value> LoopAttribute(Runtime& runtime, LoopState& loop, std::string_view name) {
  const std::vector<Value>& items = loop.list->items;
  const std::size_t n = items.size();
  if (items.empty()) return Value();  // a loop that visited nothing has no variable
  const auto integer = [](std::size_t number) { return Value(static_cast<Int>(number)); };
  if (name == "index") return integer(loop.index + 1);
  if (name == "index0") return integer(loop.index);
  if (name == "revindex") return integer(n - loop.index);
  if (name == "revindex0") return integer(n - loop.index - 1);
  if (name == "first") return Value(loop.index == 0);
  if (name == "last") return Value(loop.index + 1 == n);
  if (name == "length") return integer(n);
  if (name == "depth") return integer(loop.depth0 + 1);
  if (name == "depth0") return integer(loop.depth0);
  if (name == "previtem") {
    if (loop.index > 0) return items[loop.index - 1];
    return Value::MakeUndefined("there is no previous item");
  }
  if (name == "nextitem") {
    if (loop.index + 1 < n) return items[loop.index + 1];
    return Value::MakeUndefined("there is no next item");
  }
  if (name == "cycle" || name == "changed") {
    return runtime.MakeMethod(Value(&loop), name);
  }
  return Value();
}

Result<Value> CallLoopMethod(Runtime& runtime, LoopState& loop, std::string_view name,
                             const Arguments& arguments) {
  if (!arguments.named.empty()) return Fault("loop." + std::string(name) + " takes no names");
  const std::vector<Value>& given = arguments.positional;
  if (name == "cycle") {
    if (given.empty()) return Fault("no items for cycling given");
    return given[loop.index % given.size()];
  }
  LATTICE_TRY(const Value now, runtime.MakeList(given, List::Kind::kTuple));
  bool changed = true;
  if (loop.last_changed) {
    LATTICE_TRY(const bool same, Equal(runtime, *loop.last_changed, now));
    changed = !same;
  }
  loop.last_changed = now;
  return Value(changed);
}

}  // namespace lattice::chat::jinja
