#include <algorithm>
#include <optional>

#include "chat/jinja/loop.h"
#include "chat/jinja/methods.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/printing.h"

namespace lattice::chat::jinja {
namespace {

// How the reference names an object whose attribute is missing.
std::string ObjectName(const Value& value) {
  if (value.IsNone()) return "None";
  return std::string(TypeName(value)) + " object";
}

Result<Value> Missing(Runtime& runtime, const Value& value, std::string_view attribute) {
  return runtime.MakeUndefined("'" + ObjectName(value) + "' has no attribute '" +
                               std::string(attribute) + "'");
}

Result<Value> MissingItem(Runtime& runtime, const Value& value, const Value& key) {
  if (const Text* text = key.text()) return Missing(runtime, value, text->view());
  return runtime.MakeUndefined(ObjectName(value) + " has no element " + Describe(key));
}

// What a value has as attributes, which is all but the keys of a dict. Undefined without a reason
// when there is none.
Result<Value> FindAttribute(Runtime& runtime, const Value& value, std::string_view name) {
  if (Namespace* const* scope = value.If<Namespace*>()) {
    const Value* found = (*scope)->attributes.Find(name);
    return found != nullptr ? *found : Value();
  }
  if (LoopState* const* loop = value.If<LoopState*>()) return LoopAttribute(runtime, **loop, name);
  switch (FindMethod(value, name)) {
    case MethodKind::kNone:
      return Value();
    case MethodKind::kKnown:
      return runtime.MakeMethod(value, name);
    case MethodKind::kMutating:
      break;
  }
  return runtime.MakeUndefined("access to attribute '" + std::string(name) + "' of '" +
                               std::string(TypeName(value)) +
                               "' object is unsafe: values cannot be changed");
}

bool IsReal(const Value& value) {
  const Undefined* undefined = value.If<Undefined>();
  return undefined == nullptr || undefined->reason != nullptr;
}

// The index of item `key` in a sequence of n items; negative ones count from the end.
std::optional<std::size_t> IndexOf(const Value& key, std::size_t n) {
  Int index = 0;
  if (const Int* integer = key.If<Int>()) {
    index = *integer;
  } else if (const bool* flag = key.If<bool>()) {
    index = *flag;
  } else {
    return std::nullopt;
  }
  if (index < 0) index += static_cast<Int>(n);
  if (index < 0 || index >= static_cast<Int>(n)) return std::nullopt;
  return static_cast<std::size_t>(index);
}

bool IsIndexable(const List& list) {
  return list.kind == List::Kind::kList || list.kind == List::Kind::kTuple ||
         list.kind == List::Kind::kRange;
}

// One bound of a slice over n items, moved into [lowest, highest].
Result<Int> SliceBound(const Value& bound, Int fallback, Int n, Int lowest, Int highest) {
  if (bound.IsUndefined() || bound.IsNone()) return fallback;
  Int at = 0;
  if (const Int* integer = bound.If<Int>()) {
    at = *integer;
  } else if (const bool* flag = bound.If<bool>()) {
    at = *flag;
  } else {
    return Fault("slice indices must be integers or None, not " + std::string(TypeName(bound)));
  }
  if (at < 0) at = at < -n ? lowest : at + n;
  return std::clamp(at, lowest, highest);
}

struct SliceRange {
  Int from = 0, step = 1;
  std::size_t count = 0;
};

Result<SliceRange> ResolveSlice(const Value& from, const Value& to, const Value& step,
                                std::size_t size) {
  const Int n = static_cast<Int>(size);
  SliceRange range;
  if (const Int* integer = step.If<Int>()) {
    range.step = *integer;
  } else if (!step.IsUndefined() && !step.IsNone()) {
    return Fault("slice indices must be integers or None, not " + std::string(TypeName(step)));
  }
  if (range.step == 0) return Fault("slice step cannot be zero");
  const bool forward = range.step > 0;
  const Int lowest = forward ? 0 : -1, highest = forward ? n : n - 1;
  LATTICE_TRY(range.from, SliceBound(from, forward ? lowest : highest, n, lowest, highest));
  LATTICE_TRY(const Int end, SliceBound(to, forward ? highest : lowest, n, lowest, highest));
  const Int span = forward ? end - range.from : range.from - end;
  // A step past the whole sequence is as good as one of its length.
  range.step = std::clamp<Int>(range.step, -n - 1, n + 1);
  const Int stride = forward ? range.step : -range.step;
  range.count = span <= 0 ? 0 : static_cast<std::size_t>((span + stride - 1) / stride);
  return range;
}

Result<Value> SliceText(Runtime& runtime, const Text& text, const SliceRange& range) {
  TextBuilder out = runtime.NewText();
  if (range.step == 1) {
    const auto from = static_cast<std::size_t>(range.from);
    if (range.count > 0) {
      LATTICE_TRY_VOID(runtime.Step(text.is_ascii() ? 0 : (from + range.count) / 32));
      out.Append(text, text.ByteOfChar(from), text.ByteOfChar(from + range.count));
    }
  } else {
    LATTICE_TRY_VOID(runtime.Step(text.n_chars() / 16 + range.count));
    std::vector<std::size_t> starts;
    starts.reserve(text.n_chars() + 1);
    for (std::size_t byte = 0; byte < text.size(); ++byte) {
      if ((static_cast<unsigned char>(text.view()[byte]) & 0xC0) != 0x80) starts.push_back(byte);
    }
    starts.push_back(text.size());
    for (std::size_t i = 0; i < range.count; ++i) {
      const auto at = static_cast<std::size_t>(range.from + range.step * static_cast<Int>(i));
      out.Append(text, starts[at], starts[at + 1]);
    }
  }
  LATTICE_TRY(const Text slice, runtime.Finish(std::move(out)));
  return Value(slice.AsMarkup(text.is_markup()));
}

}  // namespace

Result<Value> GetAttr(Runtime& runtime, const Value& value, std::string_view name) {
  if (value.IsUndefined()) return UndefinedFault(value);
  LATTICE_TRY_VOID(runtime.Step(name.size() / 64));
  LATTICE_TRY(Value attribute, FindAttribute(runtime, value, name));
  if (IsReal(attribute)) return attribute;
  if (const Dict* dict = value.dict()) {
    if (const Value* found = dict->Find(name)) return *found;
  }
  return Missing(runtime, value, name);
}

Result<Value> GetItem(Runtime& runtime, const Value& value, const Value& key) {
  if (value.IsUndefined()) return UndefinedFault(value);
  if (const Dict* dict = value.dict()) {
    LATTICE_TRY_VOID(runtime.StepForKey(*dict, key));
    if (const Value* found = dict->Find(key)) return *found;
  } else if (const List* list = value.list(); list != nullptr && IsIndexable(*list)) {
    if (const auto index = IndexOf(key, list->items.size())) return list->items[*index];
  } else if (const Text* text = value.text()) {
    if (const auto index = IndexOf(key, text->n_chars())) {
      LATTICE_TRY_VOID(runtime.Step(text->is_ascii() ? 0 : *index / 64));
      TextBuilder out = runtime.NewText();
      out.Append(*text, text->ByteOfChar(*index), text->ByteOfChar(*index + 1));
      LATTICE_TRY(const Text character, runtime.Finish(std::move(out)));
      return Value(character);
    }
  }
  if (const Text* name = key.text()) {
    LATTICE_TRY(Value attribute, FindAttribute(runtime, value, name->view()));
    if (IsReal(attribute)) return attribute;
  }
  return MissingItem(runtime, value, key);
}

Result<Value> GetSlice(Runtime& runtime, const Value& value, const Value& from, const Value& to,
                       const Value& step) {
  if (value.IsUndefined()) return UndefinedFault(value);
  if (const Text* text = value.text()) {
    LATTICE_TRY(const SliceRange range, ResolveSlice(from, to, step, text->n_chars()));
    return SliceText(runtime, *text, range);
  }
  const List* list = value.list();
  // As an unknown key of the reference's dict would: undefined until it is used.
  if (list == nullptr || !IsIndexable(*list)) {
    return runtime.MakeUndefined(ObjectName(value) + " cannot be sliced");
  }
  LATTICE_TRY(const SliceRange range, ResolveSlice(from, to, step, list->items.size()));
  LATTICE_TRY_VOID(runtime.Step(range.count / 8));
  std::vector<Value> items;
  items.reserve(range.count);
  for (std::size_t i = 0; i < range.count; ++i) {
    items.push_back(
        list->items[static_cast<std::size_t>(range.from + range.step * static_cast<Int>(i))]);
  }
  return runtime.MakeList(std::move(items), list->kind);
}

bool IsIterable(const Value& value) {
  return value.IsString() || value.list() != nullptr || value.dict() != nullptr ||
         value.IsUndefined() || value.Is<LoopState*>();
}

Result<std::vector<Value>> Iterate(Runtime& runtime, const Value& value) {
  std::vector<Value> items;
  if (value.IsUndefined()) return items;
  if (const List* list = value.list()) {
    LATTICE_TRY_VOID(runtime.Step(list->items.size() / 8));
    if (list->kind != List::Kind::kGenerator) return list->items;
    items.assign(list->items.begin() + static_cast<std::ptrdiff_t>(list->n_consumed),
                 list->items.end());
    list->n_consumed = list->items.size();
    return items;
  }
  if (const Dict* dict = value.dict()) {
    LATTICE_TRY_VOID(runtime.Step(dict->entries.size() / 8));
    items.reserve(dict->entries.size());
    for (const auto& [key, unused] : dict->entries) items.push_back(key);
    return items;
  }
  if (const Text* text = value.text()) {
    LATTICE_TRY_VOID(runtime.CheckItems(text->n_chars()));
    LATTICE_TRY_VOID(runtime.Step(text->n_chars()));
    std::size_t begin = 0;
    while (begin < text->size()) {
      std::size_t end = begin + 1;
      while (end < text->size() && (static_cast<unsigned char>(text->view()[end]) & 0xC0) == 0x80) {
        ++end;
      }
      TextBuilder out = runtime.NewText();
      out.Append(*text, begin, end);
      LATTICE_TRY(Text character, runtime.Finish(std::move(out)));
      items.emplace_back(std::move(character));
      begin = end;
    }
    return items;
  }
  return Fault("'" + std::string(TypeName(value)) + "' object is not iterable");
}

Result<ListRef> IterateShared(Runtime& runtime, const Value& value) {
  if (const ListRef* list = value.If<ListRef>();
      list != nullptr && (*list)->kind != List::Kind::kGenerator) {
    return *list;
  }
  LATTICE_TRY(std::vector<Value> items, Iterate(runtime, value));
  LATTICE_TRY(const Value list, runtime.MakeList(std::move(items)));
  return *list.If<ListRef>();
}

Result<std::size_t> Length(const Value& value) {
  if (value.IsUndefined()) return std::size_t{0};
  if (const Text* text = value.text()) return text->n_chars();
  if (const Dict* dict = value.dict()) return dict->entries.size();
  const List* list = value.list();
  if (list != nullptr && list->kind != List::Kind::kGenerator) return list->items.size();
  return Fault("object of type '" + std::string(TypeName(value)) + "' has no len()");
}

}  // namespace lattice::chat::jinja
