#pragma once

#include <string_view>

namespace lattice::chat::jinja {

/// What Python's str.isspace() is true for: what strip() removes and split() splits at.
bool IsPythonSpace(char32_t c);
/// Part of a name: \w of Python's re.
bool IsWordCharacter(char32_t c);

bool IsLetter(char32_t c);
bool IsDecimal(char32_t c);  ///< Category Nd.
bool IsNumeric(char32_t c);  ///< Categories Nd, Nl, No.
bool IsUpper(char32_t c);
bool IsLower(char32_t c);

/// `text` without whitespace at its end, or at its beginning.
std::string_view StripRight(std::string_view text);
std::string_view StripLeft(std::string_view text);

}  // namespace lattice::chat::jinja
