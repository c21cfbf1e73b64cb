#pragma once

#include <string_view>
#include <vector>

#include "chat/jinja/runtime.h"
#include "chat/jinja/value.h"

/// The operators of expressions, with Python's meaning and, in errors, its words.
namespace lattice::chat::jinja {

enum class BinaryOp { kAdd, kSub, kMul, kDiv, kFloorDiv, kMod, kPow };
enum class CompareOp { kEq, kNe, kLt, kLe, kGt, kGe, kIn, kNotIn };

bool Truthy(const Value& value);

Result<Value> Binary(Runtime& runtime, BinaryOp op, const Value& a, const Value& b);
Result<Value> Negate(const Value& value);
Result<Value> Positive(const Value& value);
Result<bool> Compare(Runtime& runtime, CompareOp op, const Value& a, const Value& b);

Result<bool> Equal(Runtime& runtime, const Value& a, const Value& b);
/// a < b, where Python defines an order.
Result<bool> Less(Runtime& runtime, const Value& a, const Value& b);
Result<bool> Contains(Runtime& runtime, const Value& container, const Value& item);

/// value.name, value[key], value[from:to:step] (a bound that is undefined here is absent).
Result<Value> GetAttr(Runtime& runtime, const Value& value, std::string_view name);
Result<Value> GetItem(Runtime& runtime, const Value& value, const Value& key);
Result<Value> GetSlice(Runtime& runtime, const Value& value, const Value& from, const Value& to,
                       const Value& step);

/// The items that a `for` sees: of a dict its keys, of a string its characters. A generator gives
/// what it has left and is empty then.
Result<std::vector<Value>> Iterate(Runtime& runtime, const Value& value);
/// The same as a list that the value may share.
Result<ListRef> IterateShared(Runtime& runtime, const Value& value);
bool IsIterable(const Value& value);

/// Python's len(), or an error.
Result<std::size_t> Length(const Value& value);

/// Why `value` cannot be used, when it is undefined.
Error UndefinedFault(const Value& value);

}  // namespace lattice::chat::jinja
