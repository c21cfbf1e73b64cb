#include "grammar/json_schema/decimal.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace lattice::grammar {
namespace {

int CompareMagnitudes(const Decimal& a, const Decimal& b) {
  if (a.whole.size() != b.whole.size()) return a.whole.size() < b.whole.size() ? -1 : 1;
  const int whole = a.whole.compare(b.whole);
  return whole != 0 ? whole : a.fraction.compare(b.fraction);
}

Decimal FromText(std::string_view text) {
  Decimal d;
  d.negative = text.starts_with('-');
  if (d.negative) text.remove_prefix(1);
  const std::size_t point = text.find('.');
  d.whole = text.substr(0, point);
  if (point != std::string_view::npos) d.fraction = text.substr(point + 1);
  while (d.fraction.ends_with('0')) d.fraction.pop_back();
  if (d.is_zero()) d.negative = false;
  return d;
}

}  // namespace

std::optional<Decimal> DecimalOf(const boost::json::value& number) {
  if (const auto* i = number.if_int64()) return FromText(std::to_string(*i));
  if (const auto* u = number.if_uint64()) return FromText(std::to_string(*u));
  const double* real = number.if_double();
  if (real == nullptr || !std::isfinite(*real)) return std::nullopt;
  std::array<char, 800> text;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), *real, std::chars_format::fixed);
  if (end.ec != std::errc()) return std::nullopt;
  return FromText({text.data(), static_cast<std::size_t>(end.ptr - text.data())});
}

int Compare(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  return a.negative ? CompareMagnitudes(b, a) : CompareMagnitudes(a, b);
}

}  // namespace lattice::grammar
