#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "chat/jinja/builtins.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/printing.h"
#include "chat/jinja/string_methods.h"

namespace lattice::chat::jinja {
namespace {

Result<Value> First(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY_VOID(Bind("first", arguments, {}));
  if (const List* list = subject.list(); list != nullptr && list->kind == List::Kind::kGenerator) {
    if (list->n_consumed < list->items.size()) return list->items[list->n_consumed++];
    return Value::MakeUndefined("No first item, sequence was empty.");
  }
  LATTICE_TRY(const std::vector<Value> items, Iterate(runtime, subject));
  if (items.empty()) return Value::MakeUndefined("No first item, sequence was empty.");
  return items.front();
}

Result<Value> Last(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY_VOID(Bind("last", arguments, {}));
  if (const List* list = subject.list(); list != nullptr && list->kind == List::Kind::kGenerator) {
    return Fault("'generator' object is not reversible");
  }
  LATTICE_TRY(const std::vector<Value> items, Iterate(runtime, subject));
  if (items.empty()) return Value::MakeUndefined("No last item, sequence was empty.");
  return items.back();
}

Result<Value> ToList(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY_VOID(Bind("list", arguments, {}));
  LATTICE_TRY(std::vector<Value> items, Iterate(runtime, subject));
  return runtime.MakeList(std::move(items));
}

Result<Value> Items(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY_VOID(Bind("items", arguments, {}));
  std::vector<Value> pairs;
  const Dict* dict = subject.dict();
  if (dict == nullptr && !subject.IsUndefined()) {
    return Fault("Can only get item pairs from a mapping.");
  }
  if (dict != nullptr) {
    LATTICE_TRY_VOID(runtime.Step(dict->entries.size()));
    for (const auto& [key, value] : dict->entries) {
      LATTICE_TRY(Value pair, runtime.MakeList({key, value}, List::Kind::kTuple));
      pairs.push_back(std::move(pair));
    }
  }
  return runtime.MakeList(std::move(pairs), List::Kind::kGenerator);
}

Result<Value> Join(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("join", arguments, {"d", "attribute"}));
  LATTICE_TRY(const Text separator,
              bound[0] == nullptr ? Result<Text>(Text()) : ToText(runtime, *bound[0]));
  LATTICE_TRY(const std::vector<Value> items, Iterate(runtime, subject));
  std::vector<Value> texts;
  texts.reserve(items.size());
  for (const Value& item : items) {
    LATTICE_TRY_VOID(runtime.Step());
    LATTICE_TRY(const Value member, bound[1] == nullptr || bound[1]->IsNone()
                                        ? Result<Value>(item)
                                        : GetPath(runtime, item, *bound[1]));
    LATTICE_TRY(Text text, ToText(runtime, member));
    texts.emplace_back(std::move(text));
  }
  return JoinText(runtime, separator.AsMarkup(false), texts);
}

Result<Value> Reverse(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY_VOID(Bind("reverse", arguments, {}));
  LATTICE_TRY(std::vector<Value> items, Iterate(runtime, subject));
  std::reverse(items.begin(), items.end());
  if (subject.IsString()) return JoinText(runtime, Text(), items);
  return runtime.MakeList(std::move(items), List::Kind::kGenerator);
}

Result<Value> Sum(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("sum", arguments, {"attribute", "start"}));
  LATTICE_TRY(const std::vector<Value> items, Iterate(runtime, subject));
  Value total = bound[1] != nullptr ? *bound[1] : Value(Int{0});
  for (const Value& item : items) {
    LATTICE_TRY_VOID(runtime.Step());
    LATTICE_TRY(const Value member, bound[0] == nullptr || bound[0]->IsNone()
                                        ? Result<Value>(item)
                                        : GetPath(runtime, item, *bound[0]));
    LATTICE_TRY(total, Binary(runtime, BinaryOp::kAdd, total, member));
  }
  return total;
}

Result<Value> Batch(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("batch", arguments, {"linecount", "fill_with"}, 1));
  LATTICE_TRY(const Int size, bound.IntOr(0, 1));
  if (size < 1) return Fault("batch: the size must be positive");
  LATTICE_TRY(const std::vector<Value> items, Iterate(runtime, subject));
  std::vector<Value> batches, batch;
  const auto flush = [&]() -> Status {
    LATTICE_TRY(Value list, runtime.MakeList(std::exchange(batch, {})));
    batches.push_back(std::move(list));
    return Ok();
  };
  for (const Value& item : items) {
    if (static_cast<Int>(batch.size()) == size) LATTICE_TRY_VOID(flush());
    batch.push_back(item);
  }
  if (!batch.empty()) {
    if (bound[1] != nullptr && !bound[1]->IsNone()) {
      LATTICE_TRY_VOID(runtime.CheckItems(static_cast<std::size_t>(std::min<Int>(size, SIZE_MAX))));
      batch.resize(static_cast<std::size_t>(size), *bound[1]);
    }
    LATTICE_TRY_VOID(flush());
  }
  return runtime.MakeList(std::move(batches), List::Kind::kGenerator);
}

Result<Value> Slice(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("slice", arguments, {"slices", "fill_with"}, 1));
  LATTICE_TRY(const Int slices, bound.IntOr(0, 1));
  if (slices < 1) return Fault("slice: the number of slices must be positive");
  LATTICE_TRY(const std::vector<Value> items, Iterate(runtime, subject));
  const auto n = static_cast<std::size_t>(std::min<Int>(slices, Int{SIZE_MAX}));
  LATTICE_TRY_VOID(runtime.CheckItems(n));
  const std::size_t per_slice = items.size() / n, longer = items.size() % n;
  std::vector<Value> columns;
  auto at = items.begin();
  for (std::size_t i = 0; i < n; ++i) {
    LATTICE_TRY_VOID(runtime.Step());
    const auto end = at + static_cast<std::ptrdiff_t>(per_slice + (i < longer ? 1 : 0));
    std::vector<Value> column(at, end);
    if (bound[1] != nullptr && !bound[1]->IsNone() && i >= longer) column.push_back(*bound[1]);
    LATTICE_TRY(Value list, runtime.MakeList(std::move(column)));
    columns.push_back(std::move(list));
    at = end;
  }
  return runtime.MakeList(std::move(columns), List::Kind::kGenerator);
}

Result<Value> DictSort(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("dictsort", arguments, {"case_sensitive", "by", "reverse"}));
  LATTICE_TRY(const bool case_sensitive, bound.BoolOr(0, false));
  LATTICE_TRY(const Text by, bound.TextOr(1, "key"));
  LATTICE_TRY(const bool reverse, bound.BoolOr(2, false));
  if (by.view() != "key" && by.view() != "value") {
    return Fault("You can only sort by either \"key\" or \"value\"");
  }
  if (subject.IsUndefined()) return UndefinedFault(subject);
  const Dict* dict = subject.dict();
  if (dict == nullptr) {
    return Fault("'" + std::string(TypeName(subject)) + " object' has no attribute 'items'");
  }
  std::vector<Value> pairs, keys;
  for (const auto& [key, value] : dict->entries) {
    LATTICE_TRY(Value pair, runtime.MakeList({key, value}, List::Kind::kTuple));
    LATTICE_TRY(Value sort_key, CaseKey(runtime, by.view() == "key" ? key : value, case_sensitive));
    pairs.push_back(std::move(pair));
    keys.push_back(std::move(sort_key));
  }
  LATTICE_TRY(pairs, SortBy(runtime, std::move(pairs), keys, reverse));
  return runtime.MakeList(std::move(pairs));
}

constexpr std::pair<std::string_view, Filter> kFilters[] = {
    {"first", First}, {"last", Last},         {"list", ToList}, {"items", Items},
    {"join", Join},   {"reverse", Reverse},   {"sum", Sum},     {"batch", Batch},
    {"slice", Slice}, {"dictsort", DictSort},
};

// Merges runs of growing length: stable, and an error of a comparison ends it.
Status MergeSort(Runtime& runtime, std::vector<std::size_t>& order, const std::vector<Value>& keys,
                 bool reverse) {
  std::vector<std::size_t> merged(order.size());
  for (std::size_t width = 1; width < order.size(); width *= 2) {
    for (std::size_t begin = 0; begin < order.size(); begin += 2 * width) {
      const std::size_t middle = std::min(begin + width, order.size());
      const std::size_t end = std::min(begin + 2 * width, order.size());
      std::size_t left = begin, right = middle;
      for (std::size_t out = begin; out < end; ++out) {
        bool take_right = left == middle;
        if (!take_right && right < end) {
          const Value &a = keys[order[left]], &b = keys[order[right]];
          LATTICE_TRY(take_right, reverse ? Less(runtime, a, b) : Less(runtime, b, a));
        }
        merged[out] = order[take_right ? right++ : left++];
      }
    }
    order.swap(merged);
  }
  return Ok();
}

}  // namespace

Result<std::vector<Value>> SortBy(Runtime& runtime, std::vector<Value> items,
                                  const std::vector<Value>& keys, bool reverse) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  LATTICE_TRY_VOID(MergeSort(runtime, order, keys, reverse));
  std::vector<Value> sorted;
  sorted.reserve(items.size());
  for (const std::size_t index : order) sorted.push_back(std::move(items[index]));
  return sorted;
}

Result<Value> CaseKey(Runtime& runtime, const Value& value, bool case_sensitive) {
  if (case_sensitive || !value.IsString()) return value;
  return FindCaseMethod("lower")(runtime, *value.text(), {});
}

Result<Value> GetPath(Runtime& runtime, const Value& value, const Value& path) {
  if (!path.IsString()) return GetItem(runtime, value, path);
  Value at = value;
  std::string_view rest = path.text()->view();
  LATTICE_TRY_VOID(runtime.Step(rest.size() / 64));
  while (true) {
    LATTICE_TRY_VOID(runtime.Step());
    const std::string_view part = rest.substr(0, rest.find('.'));
    std::size_t index = 0;
    const auto read = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool is_index =
        !part.empty() && read.ec == std::errc() && read.ptr == part.data() + part.size();
    LATTICE_TRY(at,
                GetItem(runtime, at, is_index ? Value(static_cast<Int>(index)) : Value::Str(part)));
    if (part.size() == rest.size()) return at;
    rest.remove_prefix(part.size() + 1);
  }
}

Filter FindListFilter(std::string_view name) {
  for (const auto& [known, filter] : kFilters) {
    if (known == name) return filter;
  }
  return nullptr;
}

}  // namespace lattice::chat::jinja
