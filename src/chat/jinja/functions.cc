#include <algorithm>
#include <utility>

#include "chat/jinja/builtins.h"
#include "chat/jinja/format.h"
#include "chat/jinja/operators.h"

namespace lattice::chat::jinja {
namespace {

Result<Value> Range(Runtime& runtime, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("range", arguments, {"start", "stop", "step"}, 1));
  LATTICE_TRY(Int begin, bound.IntOr(0, 0));
  LATTICE_TRY(Int end, bound.IntOr(1, 0));
  LATTICE_TRY(Int step, bound.IntOr(2, 1));
  if (bound[1] == nullptr) end = std::exchange(begin, 0);
  if (step == 0) return Fault("range() arg 3 must not be zero");
  // Far beyond any limit, but where the arithmetic below cannot overflow.
  const Int far = Int{1} << 100;
  begin = std::clamp(begin, -far, far);
  end = std::clamp(end, -far, far);
  step = std::clamp(step, -4 * far, 4 * far);  // past all that is between the two
  const Int span = step > 0 ? end - begin : begin - end;
  const Int stride = step > 0 ? step : -step;
  const Int count = span <= 0 ? 0 : (span - 1) / stride + 1;
  if (count > Int{SIZE_MAX}) return Fault("range() is too long");
  LATTICE_TRY_VOID(runtime.CheckItems(static_cast<std::size_t>(count)));
  LATTICE_TRY_VOID(runtime.Step(static_cast<std::size_t>(count)));
  std::vector<Value> items;
  items.reserve(static_cast<std::size_t>(count));
  for (Int i = 0; i < count; ++i) items.emplace_back(begin + i * step);
  return runtime.MakeList(std::move(items), List::Kind::kRange);
}

// The entries that dict(...) and namespace(...) take: a mapping or pairs, then names.
Result<Dict> ReadEntries(Runtime& runtime, std::string_view what, const Arguments& arguments) {
  Dict dict;
  if (arguments.positional.size() > 1) {
    return Fault(std::string(what) + " expected at most 1 argument");
  }
  for (const Value& source : arguments.positional) {
    if (const Dict* other = source.dict()) {
      LATTICE_TRY_VOID(runtime.Step(other->entries.size()));
      dict = *other;
      continue;
    }
    LATTICE_TRY(const std::vector<Value> pairs, Iterate(runtime, source));
    for (const Value& pair : pairs) {
      LATTICE_TRY(std::vector<Value> parts, Iterate(runtime, pair));
      if (parts.size() != 2) return Fault(std::string(what) + " needs pairs of key and value");
      if (!parts[0].IsString()) return Fault(std::string(what) + " needs keys that are strings");
      LATTICE_TRY_VOID(runtime.StepForKey(dict, parts[0]));
      dict.Set(std::move(parts[0]), std::move(parts[1]));
    }
  }
  for (const auto& [name, value] : arguments.named) dict.Set(Value::Str(name), value);
  return dict;
}

Result<Value> MakeDictFunction(Runtime& runtime, const Arguments& arguments) {
  LATTICE_TRY(Dict dict, ReadEntries(runtime, "dict", arguments));
  return runtime.MakeDict(std::move(dict));
}

Result<Value> MakeNamespace(Runtime& runtime, const Arguments& arguments) {
  LATTICE_TRY(Dict dict, ReadEntries(runtime, "namespace", arguments));
  LATTICE_TRY(const Value checked, runtime.MakeDict(std::move(dict)));
  LATTICE_TRY(Namespace* const scope, runtime.NewNamespace());
  scope->attributes = *checked.dict();
  return Value(scope);
}

Result<Value> RaiseException(Runtime& runtime, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("raise_exception", arguments, {"message"}, 1));
  LATTICE_TRY(const Value message, ApplyFilter(runtime, "string", *bound[0], {}));
  return runtime.Raise(std::string(message.text()->view()));
}

Result<Value> StrftimeNow(Runtime& runtime, const Arguments& arguments) {
  constexpr std::size_t kMaxFormatBytes = 4096;
  LATTICE_TRY(const Bound bound, Bind("strftime_now", arguments, {"format"}, 1));
  LATTICE_TRY(const Text format, bound.TextOr(0, ""));
  if (format.size() > kMaxFormatBytes) return Fault("strftime_now: the format is too long");
  return runtime.Str(FormatTime(format.view(), runtime.Now()));
}

constexpr Function kFunctions[] = {
    {"range", Range},
    {"dict", MakeDictFunction},
    {"namespace", MakeNamespace},
    {"raise_exception", RaiseException},
    {"strftime_now", StrftimeNow},
};

}  // namespace

const Function* FindFunction(std::string_view name) {
  const auto found = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                  [&](const Function& known) { return known.name == name; });
  return found == std::end(kFunctions) ? nullptr : found;
}

}  // namespace lattice::chat::jinja
