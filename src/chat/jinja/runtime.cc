#include "chat/jinja/runtime.h"

#include <algorithm>

#include "base/checked_math.h"
#include "chat/jinja/operators.h"

namespace lattice::chat::jinja {
namespace {

Error LimitError(std::string_view what, std::size_t limit) {
  return Error{ErrorCode::kResourceExhausted, "the template exceeds the limit of " +
                                                  std::to_string(limit) + " " + std::string(what)};
}

}  // namespace

Error Fault(std::string message) { return Error{ErrorCode::kInvalidArgument, std::move(message)}; }

Runtime::Runtime(const Limits& limits, std::size_t data_bytes)
    : limits_(limits),
      max_built_bytes_(
          CheckedAdd(limits.max_built_bytes, CheckedMul(data_bytes, 64).value_or(SIZE_MAX))
              .value_or(SIZE_MAX)) {}

Status Runtime::Step(std::size_t n) {
  n_steps_ += std::min(n, limits_.max_steps + 1);
  if (n_steps_ > limits_.max_steps) return LimitError("steps", limits_.max_steps);
  return Ok();
}

Status Runtime::Enter() {
  LATTICE_TRY_VOID(Step());
  if (depth_ >= limits_.max_depth) return LimitError("levels of evaluation", limits_.max_depth);
  ++depth_;
  return Ok();
}

Status Runtime::Keep(std::size_t bytes) {
  built_bytes_ = CheckedAdd(built_bytes_, bytes).value_or(SIZE_MAX);
  if (built_bytes_ > max_built_bytes_) return LimitError("bytes in all values", max_built_bytes_);
  return Ok();
}

Result<Text> Runtime::Finish(TextBuilder&& builder) {
  if (builder.full()) return LimitError("bytes in a string", limits_.max_string_bytes);
  LATTICE_TRY_VOID(Keep(builder.memory_bytes() + sizeof(Text)));
  return std::move(builder).Build();
}

Result<Value> Runtime::Str(std::string_view literal) {
  TextBuilder builder = NewText();
  builder.Append(literal);
  LATTICE_TRY(Text text, Finish(std::move(builder)));
  return Value(std::move(text));
}

Result<Value> Runtime::MakeUndefined(std::string reason) {
  LATTICE_TRY_VOID(Keep(sizeof(Value) + sizeof(std::string) + reason.size()));
  return Value::MakeUndefined(std::move(reason));
}

Status Runtime::StepForKey(const Dict& dict, const Value& key) {
  return Step(key.IsString() ? key.text()->size() / 64 : dict.entries.size());
}

Status Runtime::CheckItems(std::size_t n) const {
  if (n > limits_.max_list_items) return LimitError("items in a list", limits_.max_list_items);
  return Ok();
}

Result<Value> Runtime::MakeList(std::vector<Value> items, List::Kind kind) {
  LATTICE_TRY_VOID(CheckItems(items.size()));
  LATTICE_TRY_VOID(Keep(sizeof(List) + items.size() * sizeof(Value)));
  auto list = std::make_shared<List>();
  list->kind = kind;
  for (const Value& item : items) list->depth = std::max(list->depth, item.depth() + 1);
  if (list->depth > limits_.max_values) return LimitError("nested lists", limits_.max_values);
  list->items = std::move(items);
  return Value(ListRef(std::move(list)));
}

Result<Value> Runtime::MakeDict(Dict dict) {
  LATTICE_TRY_VOID(CheckItems(dict.entries.size()));
  // Entries, their keys once more, and the index.
  LATTICE_TRY_VOID(Keep(sizeof(Dict) + dict.entries.size() * (2 * sizeof(Value) + 96)));
  if (dict.depth > limits_.max_values) return LimitError("nested lists", limits_.max_values);
  return Value(DictRef(std::make_shared<Dict>(std::move(dict))));
}

Result<Value> Runtime::MakeMethod(const Value& self, std::string_view name) {
  LATTICE_TRY_VOID(Keep(sizeof(Method) + name.size()));
  auto method = std::make_shared<Method>(Method{self, std::string(name)});
  if (self.depth() >= limits_.max_values) return LimitError("nested lists", limits_.max_values);
  return Value(MethodRef(std::move(method)));
}

Result<Int> Bound::IntOr(std::size_t i, Int fallback) const {
  if (values_[i] == nullptr) return fallback;
  if (const Int* integer = values_[i]->If<Int>()) return *integer;
  if (const bool* flag = values_[i]->If<bool>()) return Int{*flag};
  return Fault(what_ + ": '" + names_[i] + "' must be an int, not " +
               std::string(TypeName(*values_[i])));
}

Result<bool> Bound::BoolOr(std::size_t i, bool fallback) const {
  if (values_[i] == nullptr) return fallback;
  return Truthy(*values_[i]);
}

Result<Text> Bound::TextOr(std::size_t i, std::string_view fallback) const {
  if (values_[i] == nullptr) return Text(fallback);
  if (const Text* text = values_[i]->text()) return *text;
  return Fault(what_ + ": '" + names_[i] + "' must be a str, not " +
               std::string(TypeName(*values_[i])));
}

Result<Bound> Bind(std::string_view what, const Arguments& arguments,
                   std::initializer_list<const char*> names, std::size_t n_required) {
  Bound bound;
  bound.what_ = what;
  bound.names_ = names;
  bound.values_.resize(names.size(), nullptr);
  if (arguments.positional.size() > names.size()) {
    return Fault(bound.what_ + " takes at most " + std::to_string(names.size()) +
                 " arguments, not " + std::to_string(arguments.positional.size()));
  }
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) {
    bound.values_[i] = &arguments.positional[i];
  }
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::find(bound.names_.begin(), bound.names_.end(), name);
    if (found == bound.names_.end()) {
      return Fault(bound.what_ + " takes no argument '" + name + "'");
    }
    const Value*& slot = bound.values_[static_cast<std::size_t>(found - bound.names_.begin())];
    if (slot != nullptr) return Fault(bound.what_ + ": '" + name + "' is given twice");
    slot = &value;
  }
  for (std::size_t i = 0; i < n_required; ++i) {
    if (bound.values_[i] == nullptr) {
      return Fault(bound.what_ + " needs '" + bound.names_[i] + "'");
    }
  }
  return bound;
}

}  // namespace lattice::chat::jinja
