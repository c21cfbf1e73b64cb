#include "grammar/idna.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/code_point_range.h"
#include "base/utf8.h"

namespace lattice::grammar {
namespace {

// Parameters of RFC 3492, section 5.
constexpr std::uint32_t kBase = 36, kMinT = 1, kMaxT = 26, kSkew = 38, kDamp = 700;
constexpr std::uint32_t kFirstBias = 72, kFirstCode = 0x80, kLastCode = 0x10FFFF;

std::uint32_t Threshold(std::uint32_t k, std::uint32_t bias) {
  return k <= bias ? kMinT : std::min(k - bias, kMaxT);
}

std::uint32_t Adapt(std::uint32_t delta, std::size_t n_chars, bool is_first) {
  delta /= is_first ? kDamp : 2;
  delta += delta / static_cast<std::uint32_t>(n_chars);
  std::uint32_t k = 0;
  for (; delta > (kBase - kMinT) * kMaxT / 2; k += kBase) delta /= kBase - kMinT;
  return k + kBase * delta / (delta + kSkew);
}

using Range = CodePointRange;

// Of the characters that labels may have, those of some scripts; between them others may be named.
constexpr Range kGreek[] = {
    {0x370, 0x3E1}, {0x3F0, 0x3FF}, {0x1D26, 0x1D2A}, {0x1F00, 0x1FFE}, {0xAB65, 0xAB65}};
constexpr Range kHebrew[] = {{0x591, 0x5F4}, {0xFB1D, 0xFB4F}};
constexpr Range kKanaOrHan[] = {{0x3005, 0x3005},   {0x3007, 0x3007},   {0x3041, 0x3096},
                                {0x309D, 0x309F},   {0x30A1, 0x30FA},   {0x30FD, 0x30FF},
                                {0x31F0, 0x31FF},   {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},
                                {0xF900, 0xFAD9},   {0x16FE2, 0x16FE3}, {0x16FF0, 0x16FF1},
                                {0x1AFF0, 0x1AFFE}, {0x1B000, 0x1B167}, {0x20000, 0x323AF}};
// Unicode 14, Joining_Type: those that join to what follows, and to what stands before.
constexpr Range kJoinsNext[] = {
    {0x620, 0x620},     {0x626, 0x626},     {0x628, 0x628},     {0x62A, 0x62E},
    {0x633, 0x63F},     {0x641, 0x647},     {0x649, 0x64A},     {0x66E, 0x66F},
    {0x678, 0x687},     {0x69A, 0x6BF},     {0x6C1, 0x6C2},     {0x6CC, 0x6CC},
    {0x6CE, 0x6CE},     {0x6D0, 0x6D1},     {0x6FA, 0x6FC},     {0x6FF, 0x6FF},
    {0x712, 0x714},     {0x71A, 0x71D},     {0x71F, 0x727},     {0x729, 0x729},
    {0x72B, 0x72B},     {0x72D, 0x72E},     {0x74E, 0x758},     {0x75C, 0x76A},
    {0x76D, 0x770},     {0x772, 0x772},     {0x775, 0x777},     {0x77A, 0x77F},
    {0x7CA, 0x7EA},     {0x841, 0x845},     {0x848, 0x848},     {0x84A, 0x853},
    {0x855, 0x855},     {0x860, 0x860},     {0x862, 0x865},     {0x868, 0x868},
    {0x886, 0x886},     {0x889, 0x88D},     {0x8A0, 0x8A9},     {0x8AF, 0x8B0},
    {0x8B3, 0x8B8},     {0x8BA, 0x8C8},     {0x1807, 0x1807},   {0x1820, 0x1878},
    {0x1887, 0x18A8},   {0x18AA, 0x18AA},   {0xA840, 0xA872},   {0x10AC0, 0x10AC4},
    {0x10ACD, 0x10ACD}, {0x10AD3, 0x10ADC}, {0x10ADE, 0x10AE0}, {0x10AEB, 0x10AEE},
    {0x10B80, 0x10B80}, {0x10B82, 0x10B82}, {0x10B86, 0x10B88}, {0x10B8A, 0x10B8B},
    {0x10B8D, 0x10B8D}, {0x10B90, 0x10B90}, {0x10BAD, 0x10BAE}, {0x10D00, 0x10D21},
    {0x10D23, 0x10D23}, {0x10F30, 0x10F32}, {0x10F34, 0x10F44}, {0x10F51, 0x10F53},
    {0x10F70, 0x10F73}, {0x10F76, 0x10F81}, {0x10FB0, 0x10FB0}, {0x10FB2, 0x10FB3},
    {0x10FB8, 0x10FB8}, {0x10FBB, 0x10FBC}, {0x10FBE, 0x10FBF}, {0x10FC1, 0x10FC1},
    {0x10FC4, 0x10FC4}, {0x10FCA, 0x10FCB}, {0x1E900, 0x1E943}};
constexpr Range kJoinsPreviousAlone[] = {
    {0x622, 0x625},     {0x627, 0x627},     {0x629, 0x629},     {0x62F, 0x632},
    {0x648, 0x648},     {0x671, 0x673},     {0x675, 0x677},     {0x688, 0x699},
    {0x6C0, 0x6C0},     {0x6C3, 0x6CB},     {0x6CD, 0x6CD},     {0x6CF, 0x6CF},
    {0x6D2, 0x6D3},     {0x6D5, 0x6D5},     {0x6EE, 0x6EF},     {0x710, 0x710},
    {0x715, 0x719},     {0x71E, 0x71E},     {0x728, 0x728},     {0x72A, 0x72A},
    {0x72C, 0x72C},     {0x72F, 0x72F},     {0x74D, 0x74D},     {0x759, 0x75B},
    {0x76B, 0x76C},     {0x771, 0x771},     {0x773, 0x774},     {0x778, 0x779},
    {0x840, 0x840},     {0x846, 0x847},     {0x849, 0x849},     {0x854, 0x854},
    {0x856, 0x858},     {0x867, 0x867},     {0x869, 0x86A},     {0x870, 0x882},
    {0x88E, 0x88E},     {0x8AA, 0x8AC},     {0x8AE, 0x8AE},     {0x8B1, 0x8B2},
    {0x8B9, 0x8B9},     {0x10AC5, 0x10AC5}, {0x10AC7, 0x10AC7}, {0x10AC9, 0x10ACA},
    {0x10ACE, 0x10AD2}, {0x10ADD, 0x10ADD}, {0x10AE1, 0x10AE1}, {0x10AE4, 0x10AE4},
    {0x10AEF, 0x10AEF}, {0x10B81, 0x10B81}, {0x10B83, 0x10B85}, {0x10B89, 0x10B89},
    {0x10B8C, 0x10B8C}, {0x10B8E, 0x10B8F}, {0x10B91, 0x10B91}, {0x10BA9, 0x10BAC},
    {0x10D22, 0x10D22}, {0x10F33, 0x10F33}, {0x10F54, 0x10F54}, {0x10F74, 0x10F75},
    {0x10FB4, 0x10FB6}, {0x10FB9, 0x10FBA}, {0x10FBD, 0x10FBD}, {0x10FC2, 0x10FC3},
    {0x10FC9, 0x10FC9}};
constexpr Range kJoinsNextAlone[] = {{0xA872, 0xA872},
                                     {0x10ACD, 0x10ACD},
                                     {0x10AD7, 0x10AD7},
                                     {0x10D00, 0x10D00},
                                     {0x10FCB, 0x10FCB}};

constexpr Range kOldJamo[] = {
    {0x1100, 0x11FF}, {0xA960, 0xA97C}, {0xD7B0, 0xD7C6}, {0xD7CB, 0xD7FB}};
constexpr Range kIgnoredBlocks[] = {{0x20D0, 0x20FF}, {0x1D100, 0x1D24F}};
constexpr std::u32string_view kAllowed = U"\u00DF\u03C2\u06FD\u06FE\u0F0B\u3007";
constexpr std::u32string_view kInContext = U"\u00B7\u0375\u05F3\u05F4\u200C\u200D\u30FB";
constexpr std::u32string_view kRefused =
    U"\u0640\u07FA\u302E\u302F\u3031\u3032\u3033\u3034\u3035\u303B";
constexpr char32_t kNonJoiner = 0x200C, kJoiner = 0x200D;

bool IsArabicDigit(char32_t c) { return c >= 0x660 && c <= 0x669; }
bool IsExtendedArabicDigit(char32_t c) { return c >= 0x6F0 && c <= 0x6F9; }

const utf8proc_property_t& PropertiesOf(char32_t c) {
  return *utf8proc_get_property(static_cast<utf8proc_int32_t>(c));
}

bool IsMark(char32_t c) {
  const int category = PropertiesOf(c).category;
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
         category == UTF8PROC_CATEGORY_ME;
}

// Whether folding its case and what is compatible leaves it as it is.
bool IsStable(char32_t c) {
  constexpr auto kOptions = static_cast<utf8proc_option_t>(
      UTF8PROC_STABLE | UTF8PROC_COMPAT | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD | UTF8PROC_IGNORE);
  std::array<utf8proc_int32_t, 32> made;
  int last_class = 0;
  const auto character = static_cast<utf8proc_int32_t>(c);
  auto n = utf8proc_decompose_char(character, made.data(), made.size(), kOptions, &last_class);
  if (n < 1 || n > static_cast<utf8proc_ssize_t>(made.size())) return false;
  if (n > 1) n = utf8proc_normalize_utf32(made.data(), n, kOptions);
  return n == 1 && made[0] == character;
}

bool IsVirama(char32_t c) { return PropertiesOf(c).combining_class == 9; }

bool IsTransparent(char32_t c) {
  const int category = PropertiesOf(c).category;
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME;
}

// Between two letters that would be joined without it.
bool SplitsJoined(std::u32string_view label, std::size_t at) {
  std::size_t before = at;
  while (before > 0 && IsTransparent(label[before - 1])) --before;
  if (before == 0 || !Holds(kJoinsNext, label[before - 1])) return false;
  std::size_t after = at + 1;
  while (after < label.size() && IsTransparent(label[after])) ++after;
  if (after == label.size()) return false;
  const char32_t c = label[after];
  return Holds(kJoinsPreviousAlone, c) || (Holds(kJoinsNext, c) && !Holds(kJoinsNextAlone, c));
}

// RFC 5892, appendix A.
bool FitsContext(std::u32string_view label, std::size_t at) {
  const char32_t before = at > 0 ? label[at - 1] : 0;
  const char32_t after = at + 1 < label.size() ? label[at + 1] : 0;
  const char32_t c = label[at];
  switch (c) {
    case kNonJoiner:
      return (before != 0 && IsVirama(before)) || SplitsJoined(label, at);
    case kJoiner:
      return before != 0 && IsVirama(before);
    case 0xB7:
      return before == 'l' && after == 'l';
    case 0x375:
      return Holds(kGreek, after);
    case 0x5F3:
    case 0x5F4:
      return Holds(kHebrew, before);
    case 0x30FB:
      return std::ranges::any_of(label, [](char32_t other) { return Holds(kKanaOrHan, other); });
    default:
      break;
  }
  if (IsArabicDigit(c)) return std::ranges::none_of(label, IsExtendedArabicDigit);
  if (IsExtendedArabicDigit(c)) return std::ranges::none_of(label, IsArabicDigit);
  return true;
}

bool IsComposed(std::u32string_view label) {
  constexpr auto kOptions = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  std::string utf8;
  for (const char32_t c : label) AppendUtf8(c, utf8);
  std::array<utf8proc_int32_t, 512> made;  // at most four of each of 63
  auto n = utf8proc_decompose(reinterpret_cast<const utf8proc_uint8_t*>(utf8.data()),
                              static_cast<utf8proc_ssize_t>(utf8.size()), made.data(), made.size(),
                              kOptions);
  if (n < 0 || n > static_cast<utf8proc_ssize_t>(made.size())) return false;
  n = utf8proc_normalize_utf32(made.data(), n, kOptions);
  return std::equal(label.begin(), label.end(), made.begin(), made.begin() + n,
                    [](char32_t a, utf8proc_int32_t b) { return a == static_cast<char32_t>(b); });
}

constexpr unsigned BitOf(int direction) { return 1u << direction; }

// RFC 5893, section 2.
std::optional<LabelDirection> DirectionOf(std::u32string_view label) {
  constexpr unsigned kL = BitOf(UTF8PROC_BIDI_CLASS_L), kEn = BitOf(UTF8PROC_BIDI_CLASS_EN);
  constexpr unsigned kAn = BitOf(UTF8PROC_BIDI_CLASS_AN), kNsm = BitOf(UTF8PROC_BIDI_CLASS_NSM);
  constexpr unsigned kR = BitOf(UTF8PROC_BIDI_CLASS_R) | BitOf(UTF8PROC_BIDI_CLASS_AL);
  constexpr unsigned kNeutral = BitOf(UTF8PROC_BIDI_CLASS_ES) | BitOf(UTF8PROC_BIDI_CLASS_CS) |
                                BitOf(UTF8PROC_BIDI_CLASS_ET) | BitOf(UTF8PROC_BIDI_CLASS_ON) |
                                BitOf(UTF8PROC_BIDI_CLASS_BN) | kNsm | kEn;
  unsigned all = 0, last = 0;
  const unsigned first = BitOf(PropertiesOf(label[0]).bidi_class);
  for (const char32_t c : label) {
    const unsigned direction = BitOf(PropertiesOf(c).bidi_class);
    all |= direction;
    if (direction != kNsm) last = direction;
  }
  LabelDirection found;
  found.is_rtl = (all & (kR | kAn)) != 0;
  if (found.is_rtl) {
    const bool fits = (first & kR) != 0 && (all & ~(kR | kAn | kNeutral)) == 0 &&
                      (last & (kR | kEn | kAn)) != 0 && (all & (kEn | kAn)) != (kEn | kAn);
    return fits ? std::optional(found) : std::nullopt;
  }
  found.follows_ltr = first == kL && (all & ~(kL | kNeutral)) == 0 && (last & (kL | kEn)) != 0;
  return found;
}

}  // namespace

bool IsLabelCharacter(char32_t c) {
  if (c < 0x80) return c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
  if (kAllowed.find(c) != kAllowed.npos || kInContext.find(c) != kInContext.npos) return true;
  if (kRefused.find(c) != kRefused.npos || Holds(kOldJamo, c) || Holds(kIgnoredBlocks, c))
    return false;
  switch (PropertiesOf(c).category) {
    case UTF8PROC_CATEGORY_LU:  // Of Cherokee: folding its case makes capitals.
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ND:
      return IsStable(c);
    default:
      return false;
  }
}

Decoded DecodePunycode(std::string_view ascii) {
  using End = Decoded::End;
  Decoded decoded;
  std::u32string& label = decoded.label;
  std::size_t at = 0;
  if (const std::size_t hyphen = ascii.rfind('-'); hyphen != ascii.npos && hyphen > 0) {
    label.assign(ascii.begin(), ascii.begin() + static_cast<std::ptrdiff_t>(hyphen));
    at = hyphen + 1;
  }
  std::uint32_t code = kFirstCode, bias = kFirstBias;
  std::uint64_t i = 0;
  while (at < ascii.size()) {
    const std::uint64_t old = i;
    const std::uint64_t n_chars = label.size() + 1;
    const std::uint64_t end = (std::uint64_t{kLastCode} + 1 - code) * n_chars;
    std::uint64_t weight = 1;
    for (std::uint32_t k = kBase;; k += kBase) {
      if (at == ascii.size()) return decoded.end = End::kUnfinished, decoded;
      const char c = ascii[at++];
      std::uint32_t digit = kBase;
      if (c >= 'a' && c <= 'z') digit = static_cast<std::uint32_t>(c - 'a');
      if (c >= '0' && c <= '9') digit = static_cast<std::uint32_t>(c - '0' + 26);
      i += digit * weight;
      if (digit == kBase || i >= end) return decoded.end = End::kWrong, decoded;
      const std::uint32_t t = Threshold(k, bias);
      if (digit < t) break;
      weight *= kBase - t;
    }
    bias = Adapt(static_cast<std::uint32_t>(i - old), n_chars, old == 0);
    code += static_cast<std::uint32_t>(i / n_chars);
    i %= n_chars;
    if (!IsLabelCharacter(code)) return decoded.end = End::kWrong, decoded;
    label.insert(label.begin() + static_cast<std::ptrdiff_t>(i++), char32_t{code});
  }
  return decoded;
}

std::string EncodePunycode(std::u32string_view label) {
  std::string ascii;
  for (const char32_t c : label) {
    if (c < 0x80) ascii.push_back(static_cast<char>(c));
  }
  const std::size_t n_basic = ascii.size();
  if (n_basic > 0) ascii.push_back('-');
  std::uint32_t code = kFirstCode, bias = kFirstBias, delta = 0;
  for (std::size_t done = n_basic; done < label.size(); ++delta, ++code) {
    char32_t next = kLastCode;
    for (const char32_t c : label) next = c >= code ? std::min(next, c) : next;
    delta += (static_cast<std::uint32_t>(next) - code) * static_cast<std::uint32_t>(done + 1);
    code = static_cast<std::uint32_t>(next);
    for (const char32_t c : label) {
      if (c < code) ++delta;
      if (c != code) continue;
      std::uint32_t q = delta;
      const auto put = [&ascii](std::uint32_t digit) {
        ascii.push_back(static_cast<char>(digit < 26 ? 'a' + digit : '0' + digit - 26));
      };
      for (std::uint32_t k = kBase;; k += kBase) {
        const std::uint32_t t = Threshold(k, bias);
        if (q < t) break;
        put(t + (q - t) % (kBase - t));
        q = (q - t) / (kBase - t);
      }
      put(q);
      bias = Adapt(delta, done + 1, done == n_basic);
      delta = 0;
      ++done;
    }
  }
  return ascii;
}

std::optional<LabelDirection> CheckLabel(std::u32string_view label) {
  if (label.empty() || label.front() == '-' || label.back() == '-') return std::nullopt;
  if (label.size() >= 4 && label.substr(2, 2) == U"--") return std::nullopt;
  if (IsMark(label.front())) return std::nullopt;
  for (std::size_t i = 0; i < label.size(); ++i) {
    if (!IsLabelCharacter(label[i]) || !FitsContext(label, i)) return std::nullopt;
  }
  if (!IsComposed(label)) return std::nullopt;
  return DirectionOf(label);
}

std::optional<LabelDirection> CheckALabel(std::string_view ascii) {
  const Decoded decoded = DecodePunycode(ascii);
  const auto is_ascii = [](char32_t c) { return c < 0x80; };
  if (decoded.end != Decoded::End::kWhole || std::ranges::all_of(decoded.label, is_ascii)) {
    return std::nullopt;
  }
  if (EncodePunycode(decoded.label) != ascii) return std::nullopt;
  return CheckLabel(decoded.label);
}

}  // namespace lattice::grammar
