#include "tokenizers/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/code_point_range.h"
#include "base/utf8.h"

namespace lattice::tokenizers {
namespace {

using Range = CodePointRange;

// Code points that Unicode 15 gives a property and the reference's older tables do not; found by
// comparing the two over all code points.
constexpr Range kLaterOther[] = {
    {0x890, 0x891}, {0x8E2, 0x8E2}, {0x110CD, 0x110CD}, {0x13430, 0x1343F}};
constexpr Range kLaterNonspacing[] = {
    {0x7FD, 0x7FD},     {0x898, 0x89F},     {0x8CA, 0x8E1},     {0x9FE, 0x9FE},
    {0xAFA, 0xAFF},     {0xB55, 0xB55},     {0xC04, 0xC04},     {0xC3C, 0xC3C},
    {0xD00, 0xD00},     {0xD3B, 0xD3C},     {0xD81, 0xD81},     {0xEBA, 0xEBA},
    {0xECE, 0xECE},     {0x180F, 0x180F},   {0x1885, 0x1886},   {0x1ABF, 0x1ACE},
    {0x1DF6, 0x1DFB},   {0xA82C, 0xA82C},   {0xA8C5, 0xA8C5},   {0xA8FF, 0xA8FF},
    {0xA9BD, 0xA9BD},   {0x10D24, 0x10D27}, {0x10EAB, 0x10EAC}, {0x10EFD, 0x10EFF},
    {0x10F46, 0x10F50}, {0x10F82, 0x10F85}, {0x11070, 0x11070}, {0x11073, 0x11074},
    {0x110C2, 0x110C2}, {0x111C9, 0x111C9}, {0x111CF, 0x111CF}, {0x1123E, 0x1123E},
    {0x11241, 0x11241}, {0x1133B, 0x1133B}, {0x11438, 0x1143F}, {0x11442, 0x11444},
    {0x11446, 0x11446}, {0x1145E, 0x1145E}, {0x1182F, 0x11837}, {0x11839, 0x1183A},
    {0x1193B, 0x1193C}, {0x1193E, 0x1193E}, {0x11943, 0x11943}, {0x119D4, 0x119D7},
    {0x119DA, 0x119DB}, {0x119E0, 0x119E0}, {0x11A01, 0x11A0A}, {0x11A33, 0x11A38},
    {0x11A3B, 0x11A3E}, {0x11A47, 0x11A47}, {0x11A51, 0x11A56}, {0x11A59, 0x11A5B},
    {0x11A8A, 0x11A96}, {0x11A98, 0x11A99}, {0x11C30, 0x11C36}, {0x11C38, 0x11C3D},
    {0x11C3F, 0x11C3F}, {0x11C92, 0x11CA7}, {0x11CAA, 0x11CB0}, {0x11CB2, 0x11CB3},
    {0x11CB5, 0x11CB6}, {0x11D31, 0x11D36}, {0x11D3A, 0x11D3A}, {0x11D3C, 0x11D3D},
    {0x11D3F, 0x11D45}, {0x11D47, 0x11D47}, {0x11D90, 0x11D91}, {0x11D95, 0x11D95},
    {0x11D97, 0x11D97}, {0x11EF3, 0x11EF4}, {0x11F00, 0x11F01}, {0x11F36, 0x11F3A},
    {0x11F40, 0x11F40}, {0x11F42, 0x11F42}, {0x13440, 0x13440}, {0x13447, 0x13455},
    {0x16F4F, 0x16F4F}, {0x16FE4, 0x16FE4}, {0x1CF00, 0x1CF2D}, {0x1CF30, 0x1CF46},
    {0x1E000, 0x1E006}, {0x1E008, 0x1E018}, {0x1E01B, 0x1E021}, {0x1E023, 0x1E024},
    {0x1E026, 0x1E02A}, {0x1E08F, 0x1E08F}, {0x1E130, 0x1E136}, {0x1E2AE, 0x1E2AE},
    {0x1E2EC, 0x1E2EF}, {0x1E4EC, 0x1E4EF}, {0x1E944, 0x1E94A}};
constexpr Range kLaterPunctuation[] = {
    {0x61D, 0x61D},     {0x9FD, 0x9FD},     {0xA76, 0xA76},     {0xC77, 0xC77},
    {0xC84, 0xC84},     {0x1B7D, 0x1B7E},   {0x2E43, 0x2E4F},   {0x2E52, 0x2E5D},
    {0x10EAD, 0x10EAD}, {0x10F55, 0x10F59}, {0x10F86, 0x10F89}, {0x1144B, 0x1144F},
    {0x1145A, 0x1145B}, {0x1145D, 0x1145D}, {0x11660, 0x1166C}, {0x116B9, 0x116B9},
    {0x1183B, 0x1183B}, {0x11944, 0x11946}, {0x119E2, 0x119E2}, {0x11A3F, 0x11A46},
    {0x11A9A, 0x11A9C}, {0x11A9E, 0x11AA2}, {0x11B00, 0x11B09}, {0x11C41, 0x11C45},
    {0x11C70, 0x11C71}, {0x11EF7, 0x11EF8}, {0x11F43, 0x11F4F}, {0x11FFF, 0x11FFF},
    {0x12FF1, 0x12FF2}, {0x16E97, 0x16E9A}, {0x16FE2, 0x16FE2}, {0x1E95E, 0x1E95F}};
constexpr Range kLaterMark[] = {
    {0x7FD, 0x7FD},     {0x898, 0x89F},     {0x8CA, 0x8D3},     {0x9FE, 0x9FE},
    {0xAFA, 0xAFF},     {0xB55, 0xB55},     {0xC04, 0xC04},     {0xC3C, 0xC3C},
    {0xCF3, 0xCF3},     {0xD00, 0xD00},     {0xD3B, 0xD3C},     {0xD81, 0xD81},
    {0xEBA, 0xEBA},     {0xECE, 0xECE},     {0x1715, 0x1715},   {0x180F, 0x180F},
    {0x1ABF, 0x1ACE},   {0x1CF7, 0x1CF7},   {0x1DF6, 0x1DFA},   {0xA82C, 0xA82C},
    {0xA8FF, 0xA8FF},   {0x10D24, 0x10D27}, {0x10EAB, 0x10EAC}, {0x10EFD, 0x10EFF},
    {0x10F46, 0x10F50}, {0x10F82, 0x10F85}, {0x11070, 0x11070}, {0x11073, 0x11074},
    {0x110C2, 0x110C2}, {0x11145, 0x11146}, {0x111C9, 0x111C9}, {0x111CE, 0x111CF},
    {0x11241, 0x11241}, {0x1133B, 0x1133B}, {0x1145E, 0x1145E}, {0x1182C, 0x1183A},
    {0x11930, 0x11935}, {0x11937, 0x11938}, {0x1193B, 0x1193E}, {0x11940, 0x11940},
    {0x11942, 0x11943}, {0x119D1, 0x119D7}, {0x119DA, 0x119E0}, {0x119E4, 0x119E4},
    {0x11A01, 0x11A0A}, {0x11A33, 0x11A39}, {0x11A3B, 0x11A3E}, {0x11A47, 0x11A47},
    {0x11A51, 0x11A5B}, {0x11A8A, 0x11A99}, {0x11D31, 0x11D36}, {0x11D3A, 0x11D3A},
    {0x11D3C, 0x11D3D}, {0x11D3F, 0x11D45}, {0x11D47, 0x11D47}, {0x11D8A, 0x11D8E},
    {0x11D90, 0x11D91}, {0x11D93, 0x11D97}, {0x11EF3, 0x11EF6}, {0x11F00, 0x11F01},
    {0x11F03, 0x11F03}, {0x11F34, 0x11F3A}, {0x11F3E, 0x11F42}, {0x13440, 0x13440},
    {0x13447, 0x13455}, {0x16F4F, 0x16F4F}, {0x16F7F, 0x16F87}, {0x16FE4, 0x16FE4},
    {0x16FF0, 0x16FF1}, {0x1CF00, 0x1CF2D}, {0x1CF30, 0x1CF46}, {0x1E08F, 0x1E08F},
    {0x1E130, 0x1E136}, {0x1E2AE, 0x1E2AE}, {0x1E2EC, 0x1E2EF}, {0x1E4EC, 0x1E4EF}};
constexpr Range kLaterCombining[] = {
    {0x7FD, 0x7FD},     {0x898, 0x89F},     {0x8CA, 0x8D3},     {0x9FE, 0x9FE},
    {0xC3C, 0xC3C},     {0xD3B, 0xD3C},     {0xEBA, 0xEBA},     {0x1715, 0x1715},
    {0x1ABF, 0x1ACE},   {0x1DF6, 0x1DFA},   {0xA82C, 0xA82C},   {0x10D24, 0x10D27},
    {0x10EAB, 0x10EAC}, {0x10EFD, 0x10EFF}, {0x10F46, 0x10F50}, {0x10F82, 0x10F85},
    {0x11070, 0x11070}, {0x1133B, 0x1133B}, {0x1145E, 0x1145E}, {0x11839, 0x1183A},
    {0x1193D, 0x1193E}, {0x11943, 0x11943}, {0x119E0, 0x119E0}, {0x11A34, 0x11A34},
    {0x11A47, 0x11A47}, {0x11A99, 0x11A99}, {0x11D42, 0x11D42}, {0x11D44, 0x11D45},
    {0x11D97, 0x11D97}, {0x11F41, 0x11F42}, {0x16FF0, 0x16FF1}, {0x1E08F, 0x1E08F},
    {0x1E130, 0x1E136}, {0x1E2AE, 0x1E2AE}, {0x1E2EC, 0x1E2EF}, {0x1E4EC, 0x1E4EF}};
constexpr Range kLaterCompatibility[] = {{0x32FF, 0x32FF},   {0xA7F2, 0xA7F4},   {0xAB69, 0xAB69},
                                         {0x10781, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA},
                                         {0x11938, 0x11938}, {0x1E030, 0x1E06D}, {0x1F16C, 0x1F16C},
                                         {0x1FBF0, 0x1FBF9}};

utf8proc_category_t Category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool IsMarkCategory(utf8proc_category_t category) {
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

constexpr std::uint8_t AsciiClass(unsigned char c) {
  if (c == '\r' || c == '\n') return kSpace | kLineBreak;
  if (c == ' ' || (c >= '\t' && c <= '\r')) return kSpace;
  if (c >= '0' && c <= '9') return kNumber | kWord;
  if ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')) return kLetter | kWord;
  if (c == '_') return kPunctuation | kWord;
  return c > ' ' && c < 0x7F ? kPunctuation : 0;
}

bool IsUnicodeSpace(char32_t c) {
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

// Letters by use that are not of category L: circled and squared ones (Other_Alphabetic).
bool IsOtherAlphabetic(char32_t c) {
  return (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
         (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

bool IsPunctuationCategory(char32_t c, utf8proc_category_t category) {
  if (c == 0x166D || c == 0x111C9)
    return true;  // Punctuation in Unicode 8, a symbol and a mark now.
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO &&
         !Holds(kLaterPunctuation, c);
}

bool IsHangulVowelOrTail(char32_t c) {
  return (c >= 0x1161 && c <= 0x1175) || (c >= 0x11A8 && c <= 0x11C2);
}

}  // namespace

constinit const std::array<std::uint8_t, 128> kAsciiClasses = [] {
  std::array<std::uint8_t, 128> table{};
  for (unsigned char c = 0; c < 128; ++c) table[c] = AsciiClass(c);
  return table;
}();

std::uint8_t ClassesOf(char32_t c) {
  if (c < 0x80) return kAsciiClasses[c];
  if (IsUnicodeSpace(c)) return kSpace;
  const utf8proc_category_t category = Category(c);
  std::uint8_t classes = IsPunctuationCategory(c, category) ? kPunctuation : 0;
  switch (category) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return classes | kLetter | kWord;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return classes | kMark | kWord;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
      return classes | kNumber | kWord;
    case UTF8PROC_CATEGORY_NO:
      return classes | kNumber;
    case UTF8PROC_CATEGORY_PC:
      return classes | kWord;
    default:
      break;
  }
  if (c == 0x200C || c == 0x200D || IsOtherAlphabetic(c)) classes |= kWord;
  return classes;
}

bool IsBertRemoved(char32_t c) {
  if (c < 0x80) return c < 0x20 ? c != '\t' && c != '\n' && c != '\r' : c == 0x7F;
  if (c == 0xFFFD) return true;
  const utf8proc_category_t category = Category(c);
  return (category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
          category == UTF8PROC_CATEGORY_CO) &&
         !Holds(kLaterOther, c);
}

bool IsNonspacingMark(char32_t c) {
  if (c < 0x300) return false;
  if (c == 0x1734) return true;  // Mn in Unicode 8, Mc now.
  return Category(c) == UTF8PROC_CATEGORY_MN && !Holds(kLaterNonspacing, c);
}

bool IsCombiningMark(char32_t c) {
  if (c < 0x300) return false;
  if (c == 0x1CF2 || c == 0x1CF3) return true;  // Mc in Unicode 9, Lo now.
  return IsMarkCategory(Category(c)) && !Holds(kLaterMark, c);
}

std::uint8_t CombiningClass(char32_t c) {
  if (c < 0x300) return 0;
  const auto value = static_cast<std::uint8_t>(
      utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class);
  return value != 0 && Holds(kLaterCombining, c) ? 0 : value;
}

bool IsCjkIdeograph(char32_t c) {
  if (c < 0x3400) return false;
  // The gap before 0x2B920 is the reference's own: it leaves out the block's first 256.
  constexpr Range kIdeographs[] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
                                   {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F},
                                   {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F}};
  return Holds(kIdeographs, c);
}

int ToLower(char32_t c, char32_t out[2]) {
  if (c < 0x80) {
    out[0] = c >= 'A' && c <= 'Z' ? c + 32 : c;
    return 1;
  }
  if (c == 0x130) {  // The only code point whose lower case has two.
    out[0] = 'i';
    out[1] = 0x307;
    return 2;
  }
  out[0] = static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
  return 1;
}

int Decompose(char32_t c, bool compatibility, char32_t out[18]) {
  out[0] = c;
  if (c < 0xA0 || c == 0x11938 || (compatibility && Holds(kLaterCompatibility, c))) return 1;
  utf8proc_int32_t buffer[18];
  int boundary_class = 0;
  const auto options =
      static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | (compatibility ? UTF8PROC_COMPAT : 0));
  const utf8proc_ssize_t n = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), buffer, 18,
                                                     options, &boundary_class);
  if (n < 1 || n > 18) return 1;
  for (utf8proc_ssize_t i = 0; i < n; ++i) out[i] = static_cast<char32_t>(buffer[i]);
  return static_cast<int>(n);
}

char32_t Compose(char32_t first, char32_t second) {
  if (second < 0x300) return 0;
  utf8proc_int32_t pair[3] = {static_cast<utf8proc_int32_t>(first),
                              static_cast<utf8proc_int32_t>(second), 0};
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  const utf8proc_ssize_t n = utf8proc_normalize_utf32(pair, 2, options);
  const auto composite = static_cast<char32_t>(pair[0]);
  return n == 1 && composite != 0x11938 ? composite : 0;
}

bool IsComposedStarter(char32_t c) {
  if (c < 0x300) return true;
  if (c >= 0xAC00 && c <= 0xD7A3) return true;
  if (IsHangulVowelOrTail(c)) return false;
  const utf8proc_property_t* property = utf8proc_get_property(static_cast<utf8proc_int32_t>(c));
  if (property->combining_class != 0) return false;
  if (IsMarkCategory(static_cast<utf8proc_category_t>(property->category))) return false;
  return property->decomp_seqindex == UINT16_MAX || property->decomp_type != 0;
}

std::size_t GraphemeLength(std::string_view text) {
  Utf8Step step = DecodeUtf8(text);
  std::size_t length = step.n_bytes;
  utf8proc_int32_t state = 0;
  while (length < text.size()) {
    const auto before = static_cast<utf8proc_int32_t>(step.scalar);
    step = DecodeUtf8(text.substr(length));
    if (utf8proc_grapheme_break_stateful(before, static_cast<utf8proc_int32_t>(step.scalar),
                                         &state)) {
      break;
    }
    length += step.n_bytes;
  }
  return length;
}

}  // namespace lattice::tokenizers
