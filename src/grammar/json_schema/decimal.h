#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>

namespace lattice::grammar {

/// A finite number in base ten, exactly: sign, digits before and behind the point.
struct Decimal {
  bool negative = false;
  std::string whole = "0";  ///< No zeros in front, but "0" itself.
  std::string fraction;     ///< No zeros at the end; may be empty.

  bool is_integer() const { return fraction.empty(); }
  bool is_zero() const { return whole == "0" && fraction.empty(); }
  Decimal Negated() const { return {!negative && !is_zero(), whole, fraction}; }
};

/// A JSON number: integers of 64 bits exactly, others as the shortest text of their double.
/// Absent for what is no finite number, or longer than a few hundred digits.
std::optional<Decimal> DecimalOf(const boost::json::value& number);

/// Negative, zero or positive as a is less than, equal to or more than b.
int Compare(const Decimal& a, const Decimal& b);

}  // namespace lattice::grammar
