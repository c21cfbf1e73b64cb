#include "chat/jinja/value.h"

#include <algorithm>

namespace lattice::chat::jinja {
namespace {

// A boolean or number as a double; only for keys, where it decides equality.
double NumberOf(const Value& value) {
  if (const bool* flag = value.If<bool>()) return *flag ? 1 : 0;
  if (const Int* integer = value.If<Int>()) return static_cast<double>(*integer);
  return *value.If<double>();
}

std::string_view ListTypeName(List::Kind kind) {
  switch (kind) {
    case List::Kind::kList:
      return "list";
    case List::Kind::kTuple:
      return "tuple";
    case List::Kind::kGenerator:
      return "generator";
    case List::Kind::kKeys:
      return "dict_keys";
    case List::Kind::kValues:
      return "dict_values";
    case List::Kind::kItems:
      return "dict_items";
    case List::Kind::kRange:
      return "range";
  }
  return "list";
}

}  // namespace

Value Value::MakeUndefined(std::string reason) {
  return Undefined{std::make_shared<const std::string>(std::move(reason))};
}

std::size_t Value::depth() const {
  if (const List* items = list()) return items->depth;
  if (const Dict* entries = dict()) return entries->depth;
  if (const MethodRef* method = If<MethodRef>()) return (*method)->self.depth() + 1;
  return 0;
}

std::size_t Dict::IndexOf(std::string_view key) const {
  const auto found = index_.find(key);
  return found == index_.end() ? entries.size() : found->second;
}

std::size_t Dict::IndexOf(const Value& key) const {
  if (const Text* text = key.text()) return IndexOf(text->view());
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const auto& entry) { return SameKey(entry.first, key); });
  return static_cast<std::size_t>(found - entries.begin());
}

void Dict::Set(Value key, Value value) {
  depth = std::max(depth, value.depth() + 1);
  const std::size_t index = IndexOf(key);
  if (index < entries.size()) {
    entries[index].second = std::move(value);
    return;
  }
  if (const Text* text = key.text()) index_.emplace(text->view(), index);
  entries.emplace_back(std::move(key), std::move(value));
}

std::string_view TypeName(const Value& value) {
  if (value.IsUndefined()) return "Undefined";
  if (value.IsNone()) return "NoneType";
  if (value.Is<bool>()) return "bool";
  if (value.Is<Int>()) return "int";
  if (value.Is<double>()) return "float";
  if (value.IsString()) return "str";
  if (const List* list = value.list()) return ListTypeName(list->kind);
  if (value.dict() != nullptr) return "dict";
  if (value.Is<Namespace*>()) return "Namespace";
  if (value.Is<const Macro*>()) return "Macro";
  if (value.Is<LoopState*>()) return "LoopContext";
  return "function";
}

bool SameKey(const Value& a, const Value& b) {
  if (a.IsString() && b.IsString()) return a.text()->view() == b.text()->view();
  if (a.IsNumber() && b.IsNumber()) return NumberOf(a) == NumberOf(b);
  return (a.IsNone() && b.IsNone()) || (a.IsUndefined() && b.IsUndefined());
}

}  // namespace lattice::chat::jinja
