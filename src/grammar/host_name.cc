#include "grammar/host_name.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "grammar/idna.h"

namespace lattice::grammar {
namespace {

constexpr std::size_t kPrefixSize = 4;  // "xn--"
// Whatever stands in a label, so many characters more can make it a valid one: a letter, a hyphen,
// and three that put U+00DF first.
constexpr std::size_t kEnough = 5;
constexpr std::size_t kMaxTries = 500;
constexpr std::uint64_t kStepsToCheck = 4;
constexpr std::string_view kDigits = "abcdefghijklmnopqrstuvwxyz0123456789";

}  // namespace

std::size_t HostName::room() const {
  return std::min<std::size_t>(kMaxLabel, kMaxName - n_before_);
}

std::size_t HostName::shortest() const {
  if (prefix_ != Prefix::kALabel) return n_label_ > 0 && !hyphen_last_ ? 0 : 1;
  const std::string text = text_.substr(0, n_label_ - kPrefixSize);
  if (Spells(text)) return 0;
  // A character outside ASCII takes two digits, behind a hyphen where others stand.
  if (DecodePunycode(text).end == Decoded::End::kWrong) return 3;
  return text.empty() || text.ends_with('-') ? 2 : 1;
}

std::optional<HostName> HostName::Next(std::uint8_t byte, WorkBudget& work) const {
  const char c = static_cast<char>(byte);
  if (c == '.') return AfterDot();
  const bool is_digit = c >= '0' && c <= '9';
  const bool is_lower = c >= 'a' && c <= 'z';
  if (!is_digit && !is_lower && c != '-' && !(c >= 'A' && c <= 'Z')) return std::nullopt;
  if (prefix_ == Prefix::kALabel) return WithinALabel(c, work);
  if (n_label_ == 0 && (c == '-' || (is_digit && has_rtl_))) return std::nullopt;
  // A hyphen is never last.
  if (n_label_ + (c == '-' ? 2u : 1u) > room()) return std::nullopt;
  HostName next = *this;
  ++next.n_label_;
  if (n_label_ == 0) next.digit_first_ = is_digit;
  next.hyphen_last_ = c == '-';
  next.prefix_ = Prefix::kNone;
  if (n_label_ == 0 && c == 'x') next.prefix_ = Prefix::kX;
  if (prefix_ == Prefix::kX && c == 'n') next.prefix_ = Prefix::kXn;
  if (prefix_ == Prefix::kXn && c == '-') next.prefix_ = Prefix::kXnHyphen;
  if (n_label_ == 3 && hyphen_last_ && c == '-') {
    if (prefix_ != Prefix::kXnHyphen || room() < kPrefixSize + kEnough) return std::nullopt;
    next.prefix_ = Prefix::kALabel;
    next.hyphen_last_ = false;
  }
  return next;
}

std::size_t HostName::n_free() const {
  const std::size_t needed = n_label_ + kEnough;
  return in_a_label() && needed < room() ? room() - needed : 0;
}

std::optional<HostName> HostName::AfterDot() const {
  if (!is_complete() || n_left() < 2) return std::nullopt;
  HostName next;
  next.n_before_ = static_cast<std::uint8_t>(n_before_ + n_label_ + 1);
  next.has_rtl_ = has_rtl_;
  next.has_mixed_ = has_mixed_ || digit_first_;
  if (prefix_ == Prefix::kALabel) {
    const auto direction = CheckALabel(std::string_view(text_).substr(0, n_label_ - kPrefixSize));
    next.has_rtl_ = has_rtl_ || direction->is_rtl;
    next.has_mixed_ = has_mixed_ || (!direction->is_rtl && !direction->follows_ltr);
  }
  return next;
}

bool HostName::Spells(const std::string& text) const {
  const auto direction = CheckALabel(text);
  if (!direction) return false;
  return direction->is_rtl ? !has_mixed_ : !has_rtl_ || direction->follows_ltr;
}

std::optional<HostName> HostName::WithinALabel(char c, WorkBudget& work) const {
  if (!MayBeInALabel(static_cast<std::uint8_t>(c))) return std::nullopt;
  if (!work.Spend(kStepsToCheck) || n_label_ >= room()) return std::nullopt;
  HostName next = *this;
  ++next.n_label_;
  const std::size_t n = n_label_ - kPrefixSize;
  if (n < text_.size() && text_[n] == c) return next;  // Along what is known to end well.
  next.text_.resize(n);
  next.text_.push_back(c);
  if (next.n_label_ + kEnough <= room()) return next;
  next.text_ = next.Completion(next.text_, work);
  if (next.text_.empty()) return std::nullopt;
  return next;
}

// A whole text that begins with this one; empty if none was found.
std::string HostName::Completion(const std::string& text, WorkBudget& work) const {
  if (Spells(text)) return text;
  const std::size_t most = room() - kPrefixSize;
  std::vector<std::string> plain{text, text + 'b'};
  if (text.ends_with('-')) plain.push_back(text.substr(0, text.size() - 1));
  for (const std::string& ascii : plain) {
    const std::u32string label(ascii.begin(), ascii.end());
    for (const std::u32string& whole : {label + U'\u00DF', U'\u00DF' + label}) {
      const std::string spelled = EncodePunycode(whole);
      if (spelled.starts_with(text) && spelled.size() <= most && Spells(spelled)) return spelled;
    }
  }
  std::size_t n_tries = 0;
  const std::string found = Extended(text, n_tries);
  return work.Spend(kStepsToCheck * n_tries) ? found : std::string();
}

std::string HostName::Extended(const std::string& text, std::size_t& n_tries) const {
  if (DecodePunycode(text).end == Decoded::End::kWrong) return {};
  if (text.size() + kPrefixSize >= room()) return {};
  std::vector<std::string> longer;
  for (const char c : kDigits) {
    if (++n_tries > kMaxTries) return {};
    longer.push_back(text + c);
    if (Spells(longer.back())) return longer.back();
  }
  for (const std::string& next : longer) {
    std::string found = Extended(next, n_tries);
    if (!found.empty()) return found;
  }
  return {};
}

HostName HostName::Clamp(std::uint32_t n_bytes) const {
  HostName clamped = *this;
  // Neither the name's limit, nor that of a label that such bytes begin, is in sight.
  if (n_before_ + n_label_ + n_bytes + kMaxLabel <= kMaxName) clamped.n_before_ = 0;
  // Any length past that of the prefix goes on alike, if the label's limit is not in sight.
  if (prefix_ == Prefix::kNone && n_label_ > kPrefixSize &&
      n_label_ + n_bytes + 1 <= clamped.room()) {
    clamped.n_label_ = kPrefixSize + 1;
  }
  return clamped;
}

HostName::Packed HostName::Pack() const {
  Packed packed;
  packed.head = {std::uint32_t{n_before_} | (std::uint32_t{n_label_} << 8) |
                     (static_cast<std::uint32_t>(prefix_) << 16),
                 std::uint32_t{has_rtl_} | (std::uint32_t{has_mixed_} << 1) |
                     (std::uint32_t{digit_first_} << 2) | (std::uint32_t{hyphen_last_} << 3)};
  packed.text.resize((text_.size() + 3) / 4);
  for (std::size_t i = 0; i < text_.size(); ++i) {
    packed.text[i / 4] |= std::uint32_t{static_cast<std::uint8_t>(text_[i])} << (i % 4 * 8);
  }
  return packed;
}

HostName HostName::Unpack(const Packed& packed) {
  HostName name;
  name.n_before_ = static_cast<std::uint8_t>(packed.head[0]);
  name.n_label_ = static_cast<std::uint8_t>(packed.head[0] >> 8);
  name.prefix_ = static_cast<Prefix>(packed.head[0] >> 16);
  name.has_rtl_ = (packed.head[1] & 1) != 0;
  name.has_mixed_ = (packed.head[1] & 2) != 0;
  name.digit_first_ = (packed.head[1] & 4) != 0;
  name.hyphen_last_ = (packed.head[1] & 8) != 0;
  for (const std::uint32_t word : packed.text) {
    for (unsigned i = 0; i < 4; ++i) {
      const char c = static_cast<char>(word >> (8 * i));
      if (c != 0) name.text_.push_back(c);
    }
  }
  return name;
}

}  // namespace lattice::grammar
