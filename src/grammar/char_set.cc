#include "grammar/char_set.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/utf8.h"

namespace lattice::grammar {
namespace {

constexpr char32_t kLastScalar = 0x10FFFF;
constexpr CharSet::Range kSurrogates{0xD800, 0xDFFF};

// Sets of all general categories, made once: a scan of all scalar values takes milliseconds.
using Categories = std::array<CharSet, 32>;
const Categories& AllCategories() {
  static const Categories kCategories = [] {
    Categories sets;
    std::size_t category = 32;
    char32_t begin = 0;
    for (char32_t c = 0; c <= kLastScalar + 1; ++c) {
      const std::size_t now =
          c > kLastScalar
              ? 32
              : static_cast<std::size_t>(utf8proc_category(static_cast<utf8proc_int32_t>(c)));
      if (now == category) continue;
      if (category < 32) sets[category].Add(begin, c - 1);
      category = now;
      begin = c;
    }
    return sets;
  }();
  return kCategories;
}

CharSet OfCategories(std::initializer_list<utf8proc_category_t> categories) {
  CharSet set;
  for (const auto c : categories) set.Add(AllCategories()[static_cast<std::size_t>(c)]);
  return set;
}

struct CategoryName {
  std::string_view name;
  utf8proc_category_t category;
};
constexpr CategoryName kCategoryNames[] = {
    {"Lu", UTF8PROC_CATEGORY_LU}, {"Ll", UTF8PROC_CATEGORY_LL}, {"Lt", UTF8PROC_CATEGORY_LT},
    {"Lm", UTF8PROC_CATEGORY_LM}, {"Lo", UTF8PROC_CATEGORY_LO}, {"Mn", UTF8PROC_CATEGORY_MN},
    {"Mc", UTF8PROC_CATEGORY_MC}, {"Me", UTF8PROC_CATEGORY_ME}, {"Nd", UTF8PROC_CATEGORY_ND},
    {"Nl", UTF8PROC_CATEGORY_NL}, {"No", UTF8PROC_CATEGORY_NO}, {"Pc", UTF8PROC_CATEGORY_PC},
    {"Pd", UTF8PROC_CATEGORY_PD}, {"Ps", UTF8PROC_CATEGORY_PS}, {"Pe", UTF8PROC_CATEGORY_PE},
    {"Pi", UTF8PROC_CATEGORY_PI}, {"Pf", UTF8PROC_CATEGORY_PF}, {"Po", UTF8PROC_CATEGORY_PO},
    {"Sm", UTF8PROC_CATEGORY_SM}, {"Sc", UTF8PROC_CATEGORY_SC}, {"Sk", UTF8PROC_CATEGORY_SK},
    {"So", UTF8PROC_CATEGORY_SO}, {"Zs", UTF8PROC_CATEGORY_ZS}, {"Zl", UTF8PROC_CATEGORY_ZL},
    {"Zp", UTF8PROC_CATEGORY_ZP}, {"Cc", UTF8PROC_CATEGORY_CC}, {"Cf", UTF8PROC_CATEGORY_CF},
    {"Co", UTF8PROC_CATEGORY_CO}, {"Cn", UTF8PROC_CATEGORY_CN}};

// Long names, as Unicode spells them, for the short ones.
constexpr std::pair<std::string_view, std::string_view> kLongNames[] = {
    {"Letter", "L"},
    {"Uppercase_Letter", "Lu"},
    {"Lowercase_Letter", "Ll"},
    {"Titlecase_Letter", "Lt"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"Mark", "M"},
    {"Nonspacing_Mark", "Mn"},
    {"Spacing_Mark", "Mc"},
    {"Enclosing_Mark", "Me"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"digit", "Nd"},
    {"Letter_Number", "Nl"},
    {"Other_Number", "No"},
    {"Punctuation", "P"},
    {"punct", "P"},
    {"Connector_Punctuation", "Pc"},
    {"Dash_Punctuation", "Pd"},
    {"Open_Punctuation", "Ps"},
    {"Close_Punctuation", "Pe"},
    {"Initial_Punctuation", "Pi"},
    {"Final_Punctuation", "Pf"},
    {"Other_Punctuation", "Po"},
    {"Symbol", "S"},
    {"Math_Symbol", "Sm"},
    {"Currency_Symbol", "Sc"},
    {"Modifier_Symbol", "Sk"},
    {"Other_Symbol", "So"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Line_Separator", "Zl"},
    {"Paragraph_Separator", "Zp"},
    {"Other", "C"},
    {"Control", "Cc"},
    {"Format", "Cf"},
    {"Private_Use", "Co"},
    {"Unassigned", "Cn"}};

CharSet UnicodeSpaces() {
  CharSet set = OfCategories({UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_ZL, UTF8PROC_CATEGORY_ZP});
  set.Add(0x9, 0xD);
  return set;
}

}  // namespace

CharSet CharSet::All() { return OfRange(0, kLastScalar); }

CharSet CharSet::OfRange(char32_t first, char32_t last) {
  CharSet set;
  set.Add(first, last);
  return set;
}

CharSet CharSet::OfRanges(const std::vector<Range>& ranges) {
  CharSet set;
  for (const Range& r : ranges) set.Append(r.first, r.last);
  set.Normalise();
  return set;
}

CharSet CharSet::OfText(std::string_view text) {
  CharSet set;
  while (!text.empty()) {
    const Utf8Step step = DecodeUtf8(text);
    if (step.valid) set.ranges_.push_back({step.scalar, step.scalar});
    text.remove_prefix(step.n_bytes);
  }
  set.Normalise();
  return set;
}

Result<CharSet> CharSet::Property(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {"General_Category=", "gc="};
  for (const std::string_view prefix : kPrefixes) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  for (const auto& [long_name, short_name] : kLongNames) {
    if (name == long_name) name = short_name;
  }
  if (name == "Any") return All();
  if (name == "ASCII") return OfRange(0, 0x7F);
  if (name == "White_Space" || name == "space") {
    CharSet set = UnicodeSpaces();
    set.Add(0x85, 0x85);
    return set;
  }
  if (name == "LC" || name == "Cased_Letter") {
    return OfCategories({UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LL, UTF8PROC_CATEGORY_LT});
  }
  CharSet set;
  for (const CategoryName& entry : kCategoryNames) {
    if (entry.name == name || (name.size() == 1 && entry.name[0] == name[0])) {
      set.Add(AllCategories()[static_cast<std::size_t>(entry.category)]);
    }
  }
  if (!set.empty()) return set;
  return Error{ErrorCode::kUnsupported, "unknown character property '" + std::string(name) + "'"};
}

CharSet CharSet::Digits(bool unicode) {
  return unicode ? OfCategories({UTF8PROC_CATEGORY_ND}) : OfRange('0', '9');
}

CharSet CharSet::WordChars(bool unicode) {
  if (unicode) {
    return OfCategories({UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LL, UTF8PROC_CATEGORY_LT,
                         UTF8PROC_CATEGORY_LM, UTF8PROC_CATEGORY_LO, UTF8PROC_CATEGORY_MN,
                         UTF8PROC_CATEGORY_MC, UTF8PROC_CATEGORY_ME, UTF8PROC_CATEGORY_ND,
                         UTF8PROC_CATEGORY_PC});
  }
  CharSet set = OfRange('0', '9');
  set.Add('A', 'Z');
  set.Add('_', '_');
  set.Add('a', 'z');
  return set;
}

CharSet CharSet::Whitespace(bool unicode) {
  if (!unicode) {
    CharSet set = OfRange(0x9, 0xD);
    set.Add(' ', ' ');
    return set;
  }
  CharSet set = UnicodeSpaces();
  set.Add(0xFEFF, 0xFEFF);
  return set;
}

void CharSet::Add(char32_t first, char32_t last) {
  Append(first, last);
  Normalise();
}

void CharSet::Append(char32_t first, char32_t last) {
  last = std::min(last, kLastScalar);
  if (first > last) return;
  if (first < kSurrogates.first) {
    ranges_.push_back({first, std::min<char32_t>(last, kSurrogates.first - 1)});
  }
  if (last > kSurrogates.last) {
    ranges_.push_back({std::max<char32_t>(first, kSurrogates.last + 1), last});
  }
}

void CharSet::Add(const CharSet& other) {
  ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
  Normalise();
}

// Ranges rise, lie apart, and a gap of surrogates alone does not join them.
void CharSet::Normalise() {
  const auto by_first = [](const Range& a, const Range& b) { return a.first < b.first; };
  if (!std::is_sorted(ranges_.begin(), ranges_.end(), by_first)) {
    std::sort(ranges_.begin(), ranges_.end(), by_first);
  }
  std::size_t n = 0;
  for (const Range& r : ranges_) {
    if (n > 0 && r.first <= ranges_[n - 1].last + 1) {
      ranges_[n - 1].last = std::max(ranges_[n - 1].last, r.last);
    } else {
      ranges_[n++] = r;
    }
  }
  ranges_.resize(n);
}

CharSet CharSet::Complement() const {
  CharSet set;
  char32_t next = 0;
  for (const Range& r : ranges_) {
    if (r.first > next) set.Append(next, r.first - 1);
    next = r.last + 1;
  }
  if (next <= kLastScalar) set.Append(next, kLastScalar);
  return set;
}

CharSet CharSet::Intersect(const CharSet& other) const {
  CharSet set;
  for (auto a = ranges_.begin(), b = other.ranges_.begin();
       a != ranges_.end() && b != other.ranges_.end();) {
    const char32_t first = std::max(a->first, b->first);
    const char32_t last = std::min(a->last, b->last);
    if (first <= last) set.ranges_.push_back({first, last});
    (a->last < b->last ? a : b)++;
  }
  return set;
}

CharSet CharSet::WithAsciiCases() const {
  CharSet set = *this;
  const auto add = [&](char32_t from, char32_t to) {
    const CharSet letters = Intersect(OfRange(from, from + 25));
    for (const Range& r : letters.ranges()) {
      set.Add(r.first - from + to, r.last - from + to);
    }
  };
  add('A', 'a');
  add('a', 'A');
  return set;
}

bool CharSet::Contains(char32_t c) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), c,
                                      [](char32_t v, const Range& r) { return v < r.first; });
  return after != ranges_.begin() && std::prev(after)->last >= c;
}

}  // namespace lattice::grammar
