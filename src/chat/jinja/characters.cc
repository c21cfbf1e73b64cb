#include "chat/jinja/characters.h"

#include <utf8proc.h>

#include "base/utf8.h"

namespace lattice::chat::jinja {
namespace {

utf8proc_category_t Category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

}  // namespace

bool IsPythonSpace(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool IsWordCharacter(char32_t c) { return c == '_' || IsLetter(c) || IsNumeric(c); }

bool IsLetter(char32_t c) {
  const utf8proc_category_t category = Category(c);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool IsDecimal(char32_t c) { return Category(c) == UTF8PROC_CATEGORY_ND; }

bool IsNumeric(char32_t c) {
  const utf8proc_category_t category = Category(c);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool IsUpper(char32_t c) { return Category(c) == UTF8PROC_CATEGORY_LU; }

bool IsLower(char32_t c) { return Category(c) == UTF8PROC_CATEGORY_LL; }

std::string_view StripRight(std::string_view text) {
  while (!text.empty()) {
    std::size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    if (!IsPythonSpace(DecodeUtf8(text.substr(begin)).scalar)) break;
    text = text.substr(0, begin);
  }
  return text;
}

std::string_view StripLeft(std::string_view text) {
  while (!text.empty()) {
    const Utf8Step step = DecodeUtf8(text);
    if (!IsPythonSpace(step.scalar)) break;
    text.remove_prefix(step.n_bytes);
  }
  return text;
}

}  // namespace lattice::chat::jinja
