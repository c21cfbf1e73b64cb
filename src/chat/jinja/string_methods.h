#pragma once

#include <string_view>

#include "chat/jinja/runtime.h"
#include "chat/jinja/value.h"

namespace lattice::chat::jinja {

using StringMethod = Result<Value> (*)(Runtime& runtime, const Text& self,
                                       const Arguments& arguments);

/// The method of Python's str with that name, or null. Results keep the origin of each byte.
StringMethod FindStringMethod(std::string_view name);

// The parts of the table, by subject.
StringMethod FindSplitMethod(std::string_view name);   ///< split, strip, join, replace, ...
StringMethod FindCaseMethod(std::string_view name);    ///< lower, title, isupper, ...
StringMethod FindSearchMethod(std::string_view name);  ///< find, count, startswith, ...

/// Bytes [begin, end) of a string as a value.
Result<Value> Piece(Runtime& runtime, const Text& text, std::size_t begin, std::size_t end);

/// str.replace; `count` < 0: all.
Result<Value> ReplaceText(Runtime& runtime, const Text& text, const Text& from, const Text& to,
                          Int count);
/// str.strip and kin: removes whitespace, or the characters of `characters`.
enum class Side { kBoth, kLeft, kRight };
Result<Value> StripText(Runtime& runtime, const Text& text, const Text* characters, Side side);
/// separator.join(items): an error when an item is no string.
Result<Value> JoinText(Runtime& runtime, const Text& separator, const std::vector<Value>& items);
/// Fills up with `fill` to `width` characters.
Result<Value> PadText(Runtime& runtime, const Text& text, Int width, const Text& fill, bool left,
                      bool right);

}  // namespace lattice::chat::jinja
