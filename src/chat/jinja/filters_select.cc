#include <algorithm>
#include <utility>

#include "chat/jinja/builtins.h"
#include "chat/jinja/operators.h"

namespace lattice::chat::jinja {
namespace {

// What map and select walk over: as in the reference, nothing at all is an empty list.
Result<std::vector<Value>> ItemsOf(Runtime& runtime, const Value& subject) {
  if (!Truthy(subject)) return std::vector<Value>();
  return Iterate(runtime, subject);
}

// The arguments behind the first n positional ones. Counted: filters in filters hold many copies.
Result<Arguments> Rest(Runtime& runtime, const Arguments& arguments, std::size_t n) {
  Arguments rest;
  LATTICE_TRY_VOID(runtime.Keep((arguments.positional.size() - n) * sizeof(Value)));
  for (const auto& named : arguments.named) {
    LATTICE_TRY_VOID(runtime.Keep(sizeof(named) + named.first.size()));
  }
  rest.positional.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(n),
                         arguments.positional.end());
  rest.named = arguments.named;
  return rest;
}

const Value* Named(const Arguments& arguments, std::string_view name) {
  for (const auto& [known, value] : arguments.named) {
    if (known == name) return &value;
  }
  return nullptr;
}

// map(attribute="a", default=d) or map("filter", ...)
Result<Value> Map(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY(const std::vector<Value> items, ItemsOf(runtime, subject));
  const Value* attribute = arguments.positional.empty() ? Named(arguments, "attribute") : nullptr;
  const Value* fallback = Named(arguments, "default");
  if (attribute == nullptr &&
      (arguments.positional.empty() || !arguments.positional[0].IsString())) {
    return Fault("map requires a filter argument");
  }
  std::vector<Value> mapped;
  mapped.reserve(items.size());
  LATTICE_TRY(const Arguments rest,
              attribute != nullptr ? Result<Arguments>(Arguments()) : Rest(runtime, arguments, 1));
  for (const Value& item : items) {
    LATTICE_TRY_VOID(runtime.Step());
    LATTICE_TRY(Value value,
                attribute != nullptr
                    ? GetPath(runtime, item, *attribute)
                    : ApplyFilter(runtime, arguments.positional[0].text()->view(), item, rest));
    if (attribute != nullptr && value.IsUndefined() && fallback != nullptr) value = *fallback;
    mapped.push_back(std::move(value));
  }
  return runtime.MakeList(std::move(mapped), List::Kind::kGenerator);
}

// select("test", ...) and, with an attribute before the test, selectattr.
Result<Value> Choose(Runtime& runtime, const Value& subject, const Arguments& arguments,
                     bool by_attribute, bool keep) {
  const std::size_t n_before = by_attribute ? 1 : 0;
  if (arguments.positional.size() < n_before) return Fault("an attribute's name is missing");
  const Value* test =
      arguments.positional.size() > n_before ? &arguments.positional[n_before] : nullptr;
  if (test != nullptr && !test->IsString()) return Fault("the name of a test must be a str");
  LATTICE_TRY(const Arguments rest, test == nullptr ? Result<Arguments>(Arguments())
                                                    : Rest(runtime, arguments, n_before + 1));
  LATTICE_TRY(const std::vector<Value> items, ItemsOf(runtime, subject));
  std::vector<Value> chosen;
  for (const Value& item : items) {
    LATTICE_TRY_VOID(runtime.Step());
    LATTICE_TRY(const Value value, by_attribute ? GetPath(runtime, item, arguments.positional[0])
                                                : Result<Value>(item));
    LATTICE_TRY(const bool holds, test == nullptr
                                      ? Result<bool>(Truthy(value))
                                      : ApplyTest(runtime, test->text()->view(), value, rest));
    if (holds == keep) chosen.push_back(item);
  }
  return runtime.MakeList(std::move(chosen), List::Kind::kGenerator);
}

Result<Value> Select(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  return Choose(runtime, subject, arguments, /*by_attribute=*/false, /*keep=*/true);
}
Result<Value> Reject(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  return Choose(runtime, subject, arguments, /*by_attribute=*/false, /*keep=*/false);
}
Result<Value> SelectAttr(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  return Choose(runtime, subject, arguments, /*by_attribute=*/true, /*keep=*/true);
}
Result<Value> RejectAttr(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  return Choose(runtime, subject, arguments, /*by_attribute=*/true, /*keep=*/false);
}

// What each item is compared by.
Result<std::vector<Value>> Keys(Runtime& runtime, const std::vector<Value>& items,
                                const Value* attribute, bool case_sensitive) {
  std::vector<Value> keys;
  keys.reserve(items.size());
  for (const Value& item : items) {
    LATTICE_TRY_VOID(runtime.Step());
    LATTICE_TRY(const Value value, attribute == nullptr || attribute->IsNone()
                                       ? Result<Value>(item)
                                       : GetPath(runtime, item, *attribute));
    LATTICE_TRY(Value key, CaseKey(runtime, value, case_sensitive));
    keys.push_back(std::move(key));
  }
  return keys;
}

Result<Value> Sort(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound,
              Bind("sort", arguments, {"reverse", "case_sensitive", "attribute"}));
  LATTICE_TRY(const bool reverse, bound.BoolOr(0, false));
  LATTICE_TRY(const bool case_sensitive, bound.BoolOr(1, false));
  LATTICE_TRY(std::vector<Value> items, Iterate(runtime, subject));
  LATTICE_TRY(const std::vector<Value> keys, Keys(runtime, items, bound[2], case_sensitive));
  LATTICE_TRY(items, SortBy(runtime, std::move(items), keys, reverse));
  return runtime.MakeList(std::move(items));
}

Result<Value> Unique(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("unique", arguments, {"case_sensitive", "attribute"}));
  LATTICE_TRY(const bool case_sensitive, bound.BoolOr(0, false));
  LATTICE_TRY(const std::vector<Value> items, Iterate(runtime, subject));
  LATTICE_TRY(const std::vector<Value> keys, Keys(runtime, items, bound[1], case_sensitive));
  std::vector<Value> unique, seen;
  for (std::size_t i = 0; i < items.size(); ++i) {
    bool known = false;
    for (std::size_t j = 0; j < seen.size() && !known; ++j) {
      LATTICE_TRY(known, Equal(runtime, seen[j], keys[i]));
    }
    if (known) continue;
    seen.push_back(keys[i]);
    unique.push_back(items[i]);
  }
  return runtime.MakeList(std::move(unique), List::Kind::kGenerator);
}

Result<Value> Extreme(Runtime& runtime, const Value& subject, const Arguments& arguments,
                      bool largest) {
  LATTICE_TRY(const Bound bound,
              Bind(largest ? "max" : "min", arguments, {"case_sensitive", "attribute"}));
  LATTICE_TRY(const bool case_sensitive, bound.BoolOr(0, false));
  LATTICE_TRY(const std::vector<Value> items, Iterate(runtime, subject));
  if (items.empty()) return Value::MakeUndefined("No aggregated item, sequence was empty.");
  LATTICE_TRY(const std::vector<Value> keys, Keys(runtime, items, bound[1], case_sensitive));
  std::size_t best = 0;
  for (std::size_t i = 1; i < items.size(); ++i) {
    LATTICE_TRY(const bool better,
                largest ? Less(runtime, keys[best], keys[i]) : Less(runtime, keys[i], keys[best]));
    if (better) best = i;
  }
  return items[best];
}
Result<Value> Min(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  return Extreme(runtime, subject, arguments, /*largest=*/false);
}
Result<Value> Max(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  return Extreme(runtime, subject, arguments, /*largest=*/true);
}

// Runs of items with the same attribute, sorted by it: tuples (grouper, list).
Result<Value> GroupBy(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound,
              Bind("groupby", arguments, {"attribute", "default", "case_sensitive"}, 1));
  LATTICE_TRY(const bool case_sensitive, bound.BoolOr(2, false));
  LATTICE_TRY(std::vector<Value> items, Iterate(runtime, subject));
  LATTICE_TRY(std::vector<Value> keys, Keys(runtime, items, bound[0], case_sensitive));
  for (Value& key : keys) {
    if (key.IsUndefined() && bound[1] != nullptr) key = *bound[1];
  }
  std::vector<Value> pairs;
  for (std::size_t i = 0; i < items.size(); ++i) {
    LATTICE_TRY(Value pair, runtime.MakeList({keys[i], items[i]}, List::Kind::kTuple));
    pairs.push_back(std::move(pair));
  }
  LATTICE_TRY(pairs, SortBy(runtime, std::move(pairs), keys, /*reverse=*/false));
  std::vector<Value> groups;
  for (std::size_t i = 0; i < pairs.size();) {
    const Value key = pairs[i].list()->items[0];
    LATTICE_TRY(const Value first, GetPath(runtime, pairs[i].list()->items[1], *bound[0]));
    std::vector<Value> members;
    bool same = true;  // as itself, even when it is not a number
    while (same) {
      members.push_back(pairs[i++].list()->items[1]);
      if (i == pairs.size()) break;
      LATTICE_TRY(same, Equal(runtime, key, pairs[i].list()->items[0]));
    }
    LATTICE_TRY(Value list, runtime.MakeList(std::move(members)));
    LATTICE_TRY(Value group, runtime.MakeList({first.IsUndefined() ? key : first, std::move(list)},
                                              List::Kind::kTuple));
    groups.push_back(std::move(group));
  }
  return runtime.MakeList(std::move(groups));
}

constexpr std::pair<std::string_view, Filter> kFilters[] = {
    {"map", Map},
    {"select", Select},
    {"reject", Reject},
    {"selectattr", SelectAttr},
    {"rejectattr", RejectAttr},
    {"sort", Sort},
    {"unique", Unique},
    {"min", Min},
    {"max", Max},
    {"groupby", GroupBy},
};

}  // namespace

Filter FindSelectFilter(std::string_view name) {
  for (const auto& [known, filter] : kFilters) {
    if (known == name) return filter;
  }
  return nullptr;
}

}  // namespace lattice::chat::jinja
