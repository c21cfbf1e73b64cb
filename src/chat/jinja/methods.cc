#include "chat/jinja/methods.h"

#include <algorithm>
#include <array>

#include "chat/jinja/loop.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/printing.h"
#include "chat/jinja/string_methods.h"

namespace lattice::chat::jinja {
namespace {

template <std::size_t n>
bool Has(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 5> kDictMethods = {"get", "items", "keys", "values", "copy"};
constexpr std::array<std::string_view, 5> kDictMutations = {"clear", "pop", "popitem", "setdefault",
                                                            "update"};
constexpr std::array<std::string_view, 3> kListMethods = {"index", "count", "copy"};
constexpr std::array<std::string_view, 8> kListMutations = {"append", "clear",  "extend",  "insert",
                                                            "pop",    "remove", "reverse", "sort"};

Result<Value> CallDictMethod(Runtime& runtime, const Value& self, std::string_view name,
                             const Arguments& arguments) {
  const Dict& dict = *self.dict();
  if (name == "get") {
    LATTICE_TRY(const Bound bound, Bind("get", arguments, {"key", "default"}, 1));
    LATTICE_TRY_VOID(runtime.StepForKey(dict, *bound[0]));
    if (const Value* found = dict.Find(*bound[0])) return *found;
    return bound[1] != nullptr ? *bound[1] : Value(None{});
  }
  LATTICE_TRY_VOID(Bind(name, arguments, {}));
  if (name == "copy") return self;
  LATTICE_TRY_VOID(runtime.Step(dict.entries.size() / 4));
  std::vector<Value> items;
  items.reserve(dict.entries.size());
  for (const auto& [key, value] : dict.entries) {
    if (name == "items") {
      LATTICE_TRY(Value pair, runtime.MakeList({key, value}, List::Kind::kTuple));
      items.push_back(std::move(pair));
    } else {
      items.push_back(name == "keys" ? key : value);
    }
  }
  return runtime.MakeList(std::move(items), name == "items"  ? List::Kind::kItems
                                            : name == "keys" ? List::Kind::kKeys
                                                             : List::Kind::kValues);
}

Result<Value> CallListMethod(Runtime& runtime, const Value& self, std::string_view name,
                             const Arguments& arguments) {
  if (name == "copy") {
    LATTICE_TRY_VOID(Bind(name, arguments, {}));
    return self;
  }
  LATTICE_TRY(const Bound bound, Bind(name, arguments, {"value"}, 1));
  const std::vector<Value>& items = self.list()->items;
  Int count = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    LATTICE_TRY(const bool same, Equal(runtime, items[i], *bound[0]));
    if (same && name == "index") return Value(static_cast<Int>(i));
    count += same ? 1 : 0;
  }
  if (name == "index") return Fault(Describe(*bound[0]) + " is not in list");
  return Value(count);
}

}  // namespace

StringMethod FindStringMethod(std::string_view name) {
  for (const auto find : {FindSplitMethod, FindSearchMethod, FindCaseMethod}) {
    if (const StringMethod method = find(name)) return method;
  }
  return nullptr;
}

MethodKind FindMethod(const Value& value, std::string_view name) {
  bool known = false, mutating = false;
  if (value.IsString()) {
    known = FindStringMethod(name) != nullptr;
  } else if (value.dict() != nullptr) {
    known = Has(kDictMethods, name);
    mutating = Has(kDictMutations, name);
  } else if (const List* list = value.list()) {
    const bool is_list = list->kind == List::Kind::kList;
    known = (is_list || list->kind == List::Kind::kTuple || list->kind == List::Kind::kRange) &&
            Has(kListMethods, name) && (is_list || name != "copy");
    mutating = is_list && Has(kListMutations, name);
  }
  return known ? MethodKind::kKnown : mutating ? MethodKind::kMutating : MethodKind::kNone;
}

Result<Value> CallMethod(Runtime& runtime, const Value& self, std::string_view name,
                         const Arguments& arguments) {
  if (const Text* text = self.text()) return FindStringMethod(name)(runtime, *text, arguments);
  if (self.dict() != nullptr) return CallDictMethod(runtime, self, name, arguments);
  if (LoopState* const* loop = self.If<LoopState*>()) {
    return CallLoopMethod(runtime, **loop, name, arguments);
  }
  return CallListMethod(runtime, self, name, arguments);
}

}  // namespace lattice::chat::jinja
