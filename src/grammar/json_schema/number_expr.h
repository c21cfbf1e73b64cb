#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/json_schema/decimal.h"

namespace lattice::grammar {

/// What keywords say of a number.
struct NumberRules {
  std::optional<Decimal> min = {};
  std::optional<Decimal> max = {};
  bool min_is_exclusive = false;
  bool max_is_exclusive = false;
  bool integer = false;  ///< No fraction but zeros.
};

/// Regular expressions of JSON numbers, by what the numbers are. All but all() are of numbers
/// without exponent, and hold every such spelling of a number or none (1, 1.0, 1.00; 0 and -0): so
/// a complement among those is right. Every number has such a spelling.
class NumberExprs {
 public:
  explicit NumberExprs(GrammarBuilder& builder);

  Expr all() const { return all_; }            ///< Every JSON number, exponents too.
  Expr decimals() const { return decimals_; }  ///< Every one without exponent.
  Expr integers() const { return integers_; }  ///< 1 and 1.0.

  Expr Between(const NumberRules& rules);
  /// Multiples of a positive number. kUnsupported when that takes too many states.
  Result<Expr> MultiplesOf(const Decimal& step);
  Expr Equal(const Decimal& number);
  Expr Complement(Expr e);   ///< Among those without exponent.
  Expr And(Expr a, Expr b);  ///< As the builder's, which does not know that integers are numbers.
  /// Integers as programs write them: no point, no -0.
  Expr PlainIntegers(Expr e);

 private:
  // Magnitudes between two bounds; each digit is below, at or above that of a bound.
  struct Range {
    const Decimal* low = nullptr;
    const Decimal* high = nullptr;
    bool low_is_exclusive = false;
    bool high_is_exclusive = false;
    bool integer = false;
    bool plain = false;  // integers without point
  };

  Expr Digits(std::uint32_t min, std::uint32_t max);
  Expr FreeFraction(const Range& range);
  Expr Signed(const NumberRules& rules, bool plain);
  Expr Magnitudes(const Range& range, bool may_be_zero);
  Expr Whole(const Range& range, std::size_t n_digits, std::size_t at, bool low, bool high);
  Expr Fraction(const Range& range, std::size_t at, bool low, bool high);
  Expr ByDigit(std::uint8_t first, std::optional<std::uint8_t> low,
               std::optional<std::uint8_t> high, const std::vector<Expr>& after);
  Expr LastDigits(std::uint64_t step, std::size_t n_digits, std::size_t n_behind_point);
  Result<Expr> Residues(std::uint64_t modulus, std::size_t n_behind_point);

  GrammarBuilder& builder_;
  Expr digit_;
  Expr minus_;
  Expr zeros_;  // nothing, or a point and zeros
  Expr plain_;
  Expr decimals_;
  Expr integers_;
  Expr all_;
  std::map<std::uint32_t, Expr> plain_of_;  // by expression; all that are integers
};

}  // namespace lattice::grammar
