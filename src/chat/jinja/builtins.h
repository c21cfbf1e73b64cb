#pragma once

#include <string_view>

#include "chat/jinja/runtime.h"
#include "chat/jinja/value.h"

/// What expressions may name without defining it.
namespace lattice::chat::jinja {

/// A filter gets what stands before the bar.
using Filter = Result<Value> (*)(Runtime& runtime, const Value& subject,
                                 const Arguments& arguments);

Filter FindFilter(std::string_view name);  ///< Null when there is no such filter.
bool IsTestName(std::string_view name);

// The parts of the table of filters, by what they work on.
Filter FindStringFilter(std::string_view name);
Filter FindListFilter(std::string_view name);
Filter FindSelectFilter(std::string_view name);  ///< Those that take filters, tests, attributes.
Filter FindValueFilter(std::string_view name);

Result<Value> ApplyFilter(Runtime& runtime, std::string_view name, const Value& subject,
                          const Arguments& arguments);
/// subject is name(arguments)
Result<bool> ApplyTest(Runtime& runtime, std::string_view name, const Value& subject,
                       const Arguments& arguments);

/// A global function: range, namespace, dict, raise_exception, strftime_now.
struct Function {
  std::string_view name;
  Result<Value> (*call)(Runtime& runtime, const Arguments& arguments);
};
const Function* FindFunction(std::string_view name);

/// "a.b.0" of a value: names and list positions, as `attribute=` of filters has them.
Result<Value> GetPath(Runtime& runtime, const Value& value, const Value& path);

/// Sorts stably by `keys` (one for each item). An error when two keys have no order.
Result<std::vector<Value>> SortBy(Runtime& runtime, std::vector<Value> items,
                                  const std::vector<Value>& keys, bool reverse);

/// The key that case-insensitive filters compare strings by: lower case, unless `case_sensitive`.
Result<Value> CaseKey(Runtime& runtime, const Value& value, bool case_sensitive);

}  // namespace lattice::chat::jinja
