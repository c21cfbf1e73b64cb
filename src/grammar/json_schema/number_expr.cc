#include "grammar/json_schema/number_expr.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

namespace lattice::grammar {
namespace {

constexpr std::uint64_t kMaxLastDigits = 10'000;
constexpr std::uint64_t kMaxModulus = 13;

std::uint8_t DigitAt(const std::string& digits, std::size_t at) {
  return static_cast<std::uint8_t>(at < digits.size() ? digits[at] : '0');
}

}  // namespace

NumberExprs::NumberExprs(GrammarBuilder& builder)
    : builder_(builder), digit_(builder.Byte('0', '9')), minus_(builder.Literal("-")) {
  const Expr more = Digits(1, kNoLimit);
  const Expr fraction = builder_.Optional(builder_.Concat({builder_.Literal("."), more}));
  const Expr sign = builder_.Optional(minus_);
  const Expr positive = builder_.Concat({builder_.Byte('1', '9'), Digits(0, kNoLimit)});
  const Expr whole = builder_.Or({builder_.Literal("0"), positive});
  zeros_ = builder_.Optional(builder_.Concat(
      {builder_.Literal("."), builder_.Repeat(builder_.Literal("0"), 1, kNoLimit)}));
  decimals_ = builder_.Concat({sign, whole, fraction});
  integers_ = builder_.Concat({sign, whole, zeros_});
  plain_ = builder_.Or({builder_.Literal("0"), builder_.Concat({sign, positive})});
  plain_of_[integers_.id] = plain_;
  const Expr e = builder_.Or({builder_.Literal("e"), builder_.Literal("E")});
  const Expr e_sign = builder_.Optional(builder_.Or({builder_.Literal("+"), minus_}));
  // Up to 308: beyond it numbers of most readers are infinite.
  const Expr exponent =
      builder_.Or({Digits(1, 2), builder_.Concat({builder_.Byte('0', '2'), Digits(2, 2)}),
                   builder_.Concat({builder_.Literal("30"), builder_.Byte('0', '8')})});
  all_ = builder_.Concat({decimals_, builder_.Optional(builder_.Concat({e, e_sign, exponent}))});
}

Expr NumberExprs::Digits(std::uint32_t min, std::uint32_t max) {
  return builder_.Repeat(digit_, min, max);
}

Expr NumberExprs::Complement(Expr e) {
  if (e == all_ || e == decimals_) return builder_.Nothing();
  if (e == builder_.Nothing()) return all_;
  return builder_.Minus(decimals_, e);
}

Expr NumberExprs::And(Expr a, Expr b) {
  if (a == all_ || a == b) return b;
  if (b == all_) return a;
  if (a == integers_ && plain_of_.contains(b.id)) return b;
  if (b == integers_ && plain_of_.contains(a.id)) return a;
  return builder_.And({a, b});
}

Expr NumberExprs::PlainIntegers(Expr e) {
  const auto known = plain_of_.find(e.id);
  return known != plain_of_.end() ? known->second : builder_.And({e, plain_});
}

Expr NumberExprs::Equal(const Decimal& number) {
  return Between({.min = number, .max = number, .integer = number.is_integer()});
}

Expr NumberExprs::Between(const NumberRules& rules) {
  if (!rules.min && !rules.max) return rules.integer ? integers_ : all_;
  const Expr made = Signed(rules, false);
  if (rules.integer && made != builder_.Nothing()) {
    plain_of_.try_emplace(made.id, Signed(rules, true));
  }
  return made;
}

Expr NumberExprs::Signed(const NumberRules& rules, bool plain) {
  std::vector<Expr> ways;
  const auto add = [&](const std::optional<Decimal>& low, const std::optional<Decimal>& high,
                       bool low_is_exclusive, bool high_is_exclusive, bool is_negative) {
    if (high && (high->negative || (high->is_zero() && high_is_exclusive))) return;
    Range range{.integer = rules.integer, .plain = plain};
    range.high = high ? &*high : nullptr;
    range.high_is_exclusive = high_is_exclusive;
    if (low && !low->negative) {
      range.low = &*low;
      range.low_is_exclusive = low_is_exclusive;
    }
    const bool allows_zero = range.low == nullptr || (low->is_zero() && !low_is_exclusive);
    const Expr magnitude = Magnitudes(range, allows_zero && !(plain && is_negative));
    ways.push_back(is_negative ? builder_.Concat({minus_, magnitude}) : magnitude);
  };
  const auto negated = [](const std::optional<Decimal>& d) {
    return d ? std::optional(d->Negated()) : std::nullopt;
  };
  add(rules.min, rules.max, rules.min_is_exclusive, rules.max_is_exclusive, false);
  add(negated(rules.max), negated(rules.min), rules.max_is_exclusive, rules.min_is_exclusive, true);
  return builder_.Or(ways);
}

Expr NumberExprs::Magnitudes(const Range& range, bool may_be_zero) {
  static const Decimal kZero;
  const Decimal& low = range.low != nullptr ? *range.low : kZero;
  const std::size_t shortest = low.whole.size();
  const std::size_t longest = range.high != nullptr ? range.high->whole.size() : shortest;
  std::vector<Expr> ways;
  if (shortest > longest) return builder_.Nothing();
  const auto of_length = [&](std::size_t n) {
    return Whole(range, n, 0, n == shortest, range.high != nullptr && n == longest);
  };
  ways.push_back(of_length(shortest));
  const std::size_t free_from = shortest + 1;
  const std::size_t free_to = range.high == nullptr ? kNoLimit : longest - 1;
  if (range.high == nullptr || free_to >= free_from) {
    const auto max = range.high == nullptr ? kNoLimit : static_cast<std::uint32_t>(free_to - 1);
    ways.push_back(builder_.Concat({builder_.Byte('1', '9'),
                                    Digits(static_cast<std::uint32_t>(free_from - 1), max),
                                    FreeFraction(range)}));
  }
  if (longest > shortest) ways.push_back(of_length(longest));
  const Expr made = builder_.Or(ways);
  if (may_be_zero || range.low != nullptr) return made;
  return builder_.And({made, builder_.Not(builder_.Literal("0"))});  // plain, below zero
}

Expr NumberExprs::FreeFraction(const Range& range) {
  if (range.plain) return builder_.EmptyText();
  if (range.integer) return zeros_;
  return builder_.Optional(builder_.Concat({builder_.Literal("."), Digits(1, kNoLimit)}));
}

// One digit from `first` on, then what follows by its relation to the bounds' digits: after[0]
// behind one between them, [1] at the low one, [2] at the high one, [3] at both.
Expr NumberExprs::ByDigit(std::uint8_t first, std::optional<std::uint8_t> low,
                          std::optional<std::uint8_t> high, const std::vector<Expr>& after) {
  std::vector<Expr> ways;
  const int from = std::max<int>(first, low ? *low + 1 : first);
  const int to = high ? *high - 1 : '9';
  if (from <= to) {
    ways.push_back(builder_.Concat(
        {builder_.Byte(static_cast<std::uint8_t>(from), static_cast<std::uint8_t>(to)), after[0]}));
  }
  const bool same = low && high && *low == *high;
  if (same && *low >= first) ways.push_back(builder_.Concat({builder_.Byte(*low, *low), after[3]}));
  if (!same && low && *low >= first && (!high || *low < *high)) {
    ways.push_back(builder_.Concat({builder_.Byte(*low, *low), after[1]}));
  }
  if (!same && high && *high >= first && (!low || *low < *high)) {
    ways.push_back(builder_.Concat({builder_.Byte(*high, *high), after[2]}));
  }
  return builder_.Or(ways);
}

// The digits before the point from `at` on; low and high say whether those before were the bounds'.
Expr NumberExprs::Whole(const Range& range, std::size_t n_digits, std::size_t at, bool low,
                        bool high) {
  static const Decimal kZero;
  if (at == n_digits) return Fraction(range, 0, low && range.low != nullptr, high);
  if (!low && !high) {
    const auto n = static_cast<std::uint32_t>(n_digits - at);
    return builder_.Concat({Digits(n, n), FreeFraction(range)});
  }
  const Decimal& bottom = range.low != nullptr ? *range.low : kZero;
  const std::uint8_t first = at == 0 && n_digits > 1 ? '1' : '0';
  const std::optional<std::uint8_t> low_digit =
      low ? std::optional(DigitAt(bottom.whole, at)) : std::nullopt;
  const std::optional<std::uint8_t> high_digit =
      high ? std::optional(DigitAt(range.high->whole, at)) : std::nullopt;
  const bool same = low && high && *low_digit == *high_digit;
  const auto next = [&](bool l, bool h) { return Whole(range, n_digits, at + 1, l, h); };
  return ByDigit(first, low_digit, high_digit,
                 {next(false, false), low && !same ? next(true, false) : builder_.Nothing(),
                  high && !same ? next(false, true) : builder_.Nothing(),
                  same ? next(true, true) : builder_.Nothing()});
}

// What stands behind the digits before the point, or behind `at` digits of the fraction.
Expr NumberExprs::Fraction(const Range& range, std::size_t at, bool low, bool high) {
  const auto exact_end = [&](const Decimal* bound, bool exclusive) {
    return bound != nullptr && !exclusive && bound->fraction.size() <= at;
  };
  const bool low_left = low && range.low->fraction.size() > at;
  const bool high_left = high && range.high->fraction.size() > at;
  const bool may_end = (!low || exact_end(range.low, range.low_is_exclusive)) &&
                       (!high || high_left || exact_end(range.high, range.high_is_exclusive));
  const Expr end = may_end ? builder_.EmptyText() : builder_.Nothing();
  if (range.plain) return low_left ? builder_.Nothing() : end;
  if (range.integer) return low_left || !may_end ? builder_.Nothing() : zeros_;
  const auto with_point = [&](Expr digits) {
    const Expr some = at == 0 ? builder_.Concat({builder_.Literal("."), digits}) : digits;
    return builder_.Or({end, some});
  };
  const std::uint32_t least = at == 0 ? 1 : 0;
  if (!low && !high) return with_point(Digits(least, kNoLimit));
  if (!low_left && !high_left) {
    if (high) {  // At the upper bound only zeros may follow.
      return may_end ? with_point(builder_.Repeat(builder_.Literal("0"), least, kNoLimit))
                     : builder_.Nothing();
    }
    if (may_end) return with_point(Digits(least, kNoLimit));
    return with_point(  // Above an exclusive bound: some digit that is not zero.
        builder_.Concat({builder_.Repeat(builder_.Literal("0"), 0, kNoLimit),
                         builder_.Byte('1', '9'), Digits(0, kNoLimit)}));
  }
  const auto low_digit = low ? std::optional(DigitAt(range.low->fraction, at)) : std::nullopt;
  const auto high_digit = high ? std::optional(DigitAt(range.high->fraction, at)) : std::nullopt;
  const bool same = low && high && *low_digit == *high_digit;
  const auto next = [&](bool l, bool h) { return Fraction(range, at + 1, l, h); };
  return with_point(
      ByDigit('0', low_digit, high_digit,
              {Digits(0, kNoLimit), low && !same ? next(true, false) : end,
               high && !same ? next(false, true) : end, same ? next(true, true) : end}));
}

// Numbers whose last digits, n_behind_point of them behind the point, are a multiple of step, which
// divides 10^n_digits.
Expr NumberExprs::LastDigits(std::uint64_t step, std::size_t n_digits, std::size_t n_behind_point) {
  std::uint64_t limit = 1;
  for (std::size_t i = 0; i < n_digits; ++i) limit *= 10;
  std::vector<Expr> ways;
  const Expr zero_run = builder_.Repeat(builder_.Literal("0"), 0, kNoLimit);
  for (std::uint64_t value = 0; value < limit; value += step) {
    std::string digits = std::to_string(value);
    digits.insert(0, n_digits - digits.size(), '0');
    std::string fraction = digits.substr(n_digits - n_behind_point);
    const std::string whole = digits.substr(0, n_digits - n_behind_point);
    while (fraction.ends_with('0')) fraction.pop_back();
    const Expr tail =
        fraction.empty() ? zeros_ : builder_.Concat({builder_.Literal("." + fraction), zero_run});
    if (whole.empty()) {
      ways.push_back(builder_.Concat(
          {builder_.Or({builder_.Literal("0"),
                        builder_.Concat({builder_.Byte('1', '9'), Digits(0, kNoLimit)})}),
           tail}));
      continue;
    }
    // The number itself, or with digits in front.
    const std::string bare = std::to_string(std::stoull(whole));
    ways.push_back(builder_.Concat({builder_.Literal(bare), tail}));
    ways.push_back(builder_.Concat(
        {builder_.Byte('1', '9'), Digits(0, kNoLimit), builder_.Literal(whole), tail}));
  }
  return builder_.Concat({builder_.Optional(minus_), builder_.Or(ways)});
}

// Numbers that are a multiple of `modulus` when n_behind_point digits move before the point.
// Source  Kleene's construction: ways[i][j] leads from remainder i to j by way of those allowed.
Result<Expr> NumberExprs::Residues(std::uint64_t modulus, std::size_t n_behind_point) {
  const auto n = static_cast<std::size_t>(modulus);
  std::vector<std::vector<Expr>> ways(n, std::vector<Expr>(n, builder_.Nothing()));
  std::vector<Expr> start(n, builder_.Nothing());
  for (std::size_t r = 0; r < n; ++r) {
    for (std::uint8_t d = 0; d < 10; ++d) {
      const Expr digit =
          builder_.Byte(static_cast<std::uint8_t>('0' + d), static_cast<std::uint8_t>('0' + d));
      Expr& way = ways[r][(r * 10 + d) % n];
      way = builder_.Or({way, digit});
      if (r == 0 && d > 0) start[d % n] = builder_.Or({start[d % n], digit});
    }
  }
  const Expr zero_run = builder_.Repeat(builder_.Literal("0"), 0, kNoLimit);
  // ends[k][r]: k digits behind the point so far, remainder r without those still to come.
  std::vector<std::vector<Expr>> ends(n_behind_point + 1, std::vector<Expr>(n, builder_.Nothing()));
  for (std::size_t k = n_behind_point + 1; k-- > 0;) {
    std::uint64_t scale = 1;
    for (std::size_t i = k; i < n_behind_point; ++i) scale = scale * 10 % modulus;
    for (std::size_t r = 0; r < n; ++r) {
      std::vector<Expr> here;
      const bool fits = r * scale % modulus == 0;
      if (k == n_behind_point) {
        ends[k][r] = fits ? (k == 0 ? zeros_ : zero_run) : builder_.Nothing();
        continue;
      }
      if (fits) here.push_back(builder_.EmptyText());
      std::vector<Expr> digits;
      for (std::uint8_t d = 0; d < 10; ++d) {
        const auto byte = static_cast<std::uint8_t>('0' + d);
        digits.push_back(
            builder_.Concat({builder_.Byte(byte, byte), ends[k + 1][(r * 10 + d) % n]}));
      }
      const Expr more = builder_.Or(digits);
      here.push_back(k == 0 ? builder_.Concat({builder_.Literal("."), more}) : more);
      ends[k][r] = builder_.Or(here);
    }
  }
  for (std::size_t via = 0; via < n; ++via) {
    auto next = ways;
    const Expr loop = builder_.Repeat(ways[via][via], 0, kNoLimit);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        next[i][j] = builder_.Or({ways[i][j], builder_.Concat({ways[i][via], loop, ways[via][j]})});
      }
    }
    ways = std::move(next);
  }
  std::vector<Expr> all{builder_.Concat({builder_.Literal("0"), ends[0][0]})};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const Expr step = i == j ? builder_.Optional(ways[i][j]) : ways[i][j];
      all.push_back(builder_.Concat({start[i], step, ends[0][j]}));
    }
  }
  return builder_.Concat({builder_.Optional(minus_), builder_.Or(all)});
}

Result<Expr> NumberExprs::MultiplesOf(const Decimal& step) {
  const Error too_hard{ErrorCode::kUnsupported, "multiples of this number take too many states"};
  const std::string text = step.whole + step.fraction;
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || value == 0 || step.fraction.size() > 12) return too_hard;
  std::uint64_t even = 1, rest = value;
  std::size_t twos = 0, fives = 0;
  for (; rest % 2 == 0; rest /= 2, ++twos) even *= 2;
  for (; rest % 5 == 0; rest /= 5, ++fives) even *= 5;
  if (rest > kMaxModulus) return too_hard;
  const std::size_t n_behind = step.fraction.size();
  const std::size_t n_digits = std::max({twos, fives, n_behind});
  std::uint64_t limit = 1;
  for (std::size_t i = 0; i < n_digits; ++i) {
    limit *= 10;
    if (limit / even > kMaxLastDigits) break;
  }
  Expr made = decimals_;
  if (even == 1 && n_behind > 0) {  // at most so many digits behind the point
    const auto zero_run = builder_.Repeat(builder_.Literal("0"), 0, kNoLimit);
    made = builder_.Concat(
        {builder_.Optional(minus_),
         builder_.Or({builder_.Literal("0"),
                      builder_.Concat({builder_.Byte('1', '9'), Digits(0, kNoLimit)})}),
         builder_.Optional(
             builder_.Concat({builder_.Literal("."), digit_,
                              Digits(0, static_cast<std::uint32_t>(n_behind - 1)), zero_run}))});
  } else {
    if (limit / even > kMaxLastDigits) return too_hard;
    made = even == 1 ? integers_ : LastDigits(even, n_digits, n_behind);
  }
  if (rest > 1) {
    LATTICE_TRY(const Expr residues, Residues(rest, n_behind));
    made = even == 1 ? residues : builder_.And({made, residues});
  }
  if (n_behind == 0 && made != integers_)
    plain_of_.try_emplace(made.id, builder_.And({made, plain_}));
  return made;
}

}  // namespace lattice::grammar
