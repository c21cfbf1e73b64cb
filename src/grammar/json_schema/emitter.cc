#include "grammar/json_schema/emitter.h"

#include <algorithm>
#include <string>

namespace lattice::grammar {
namespace {

constexpr std::size_t kMaxGoals = 20'000;

}  // namespace

Emitter::Emitter(Expander& expander, GrammarBuilder& builder, StringExprs& strings,
                 NumberExprs& numbers, const JsonSchemaOptions& options, bool integers_with_point)
    : expander_(expander),
      builder_(builder),
      strings_(strings),
      numbers_(numbers),
      options_(options),
      integers_with_point_(integers_with_point) {
  comma_ = Spaced(" ", ",", " ");
  colon_ = Spaced(" ", ":", " ");
  open_object_ = Spaced("", "{", " ");
  close_object_ = Spaced(" ", "}", "");
  open_array_ = Spaced("", "[", " ");
  close_array_ = Spaced(" ", "]", "");
}

Symbol Emitter::Spaced(std::string_view before, std::string_view mark, std::string_view after) {
  const Expr one = builder_.Chars(CharSet::OfText(" \t\n\r"));
  const Expr space = builder_.Repeat(one, 0, options_.max_whitespace);
  const Expr none = builder_.EmptyText();
  if (options_.spaced && options_.max_whitespace == 0) {
    const bool is_between = !before.empty() && !after.empty();
    return builder_.Text(std::string(mark) + (is_between ? " " : ""));
  }
  return builder_.Terminal(builder_.Concat(
      {before.empty() ? none : space, builder_.Literal(mark), after.empty() ? none : space}));
}

Error Emitter::Complain(const Goal& goal, ErrorCode code, std::string_view what) const {
  return {code, expander_.PathOf(goal) + ": " + std::string(what)};
}

Symbol Emitter::OfGoal(const Goal& goal) {
  if (IsNever(goal)) return builder_.Never();
  const auto known = symbols_.find(goal);
  if (known != symbols_.end()) return known->second;
  const Symbol rule = builder_.Rule(expander_.PathOf(goal));
  symbols_[goal] = rule;
  todo_.push_back(goal);
  return rule;
}

Result<Symbol> Emitter::Emit(const Goal& goal) {
  const Symbol root = OfGoal(goal);
  while (!todo_.empty()) {
    const Goal next = std::move(todo_.front());
    todo_.pop_front();
    if (symbols_.size() > kMaxGoals) {
      return Complain(next, ErrorCode::kResourceExhausted, "the schema has too many parts");
    }
    LATTICE_TRY(const Symbol body, Body(next));
    builder_.Define(symbols_[next], body);
  }
  return root;
}

Result<Symbol> Emitter::Body(const Goal& goal) {
  LATTICE_TRY(const Shape* shape, expander_.Expand(goal));
  std::vector<Expr> words;
  if (shape->null) words.push_back(builder_.Literal("null"));
  if (shape->yes) words.push_back(builder_.Literal("true"));
  if (shape->no) words.push_back(builder_.Literal("false"));
  if (shape->number != builder_.Nothing()) {
    words.push_back(shape->only_integers && !integers_with_point_
                        ? numbers_.PlainIntegers(shape->number)
                        : shape->number);
  }
  std::vector<Symbol> choices;
  if (!words.empty()) choices.push_back(builder_.Terminal(builder_.Or(words)));
  if (shape->string != builder_.Nothing()) {
    const auto some = builder_.MatchesSomething(shape->string);
    if (!some) return Complain(goal, some.error().code, some.error().message);
    choices.push_back(builder_.Terminal(shape->string));
  }
  for (const ObjectForm& form : shape->objects) {
    if (expander_.FormIsEmpty(form, 2)) continue;
    LATTICE_TRY(choices.emplace_back(), Object(form, goal));
  }
  for (const ArrayForm& form : shape->arrays) {
    if (expander_.FormIsEmpty(form, 2)) continue;
    LATTICE_TRY(choices.emplace_back(), Array(form, goal));
  }
  return builder_.Choice(choices);
}

Result<Symbol> Emitter::Array(const ArrayForm& form, const Goal& goal) {
  Symbol items;
  if (form.unique && form.max > 1) {
    LATTICE_TRY(items, UniqueArray(form, goal));
  } else if (!form.contains.empty()) {
    LATTICE_TRY(items, ContainingArray(form, goal));
  } else {
    items = PlainArray(form);
  }
  return builder_.Sequence({open_array_, items, close_array_});
}

Symbol Emitter::PlainArray(const ArrayForm& form) {
  const auto n = static_cast<std::uint32_t>(std::min<std::size_t>(form.prefix.size(), form.max));
  if (n == 0) {
    const SequencePart part{OfGoal(form.rest), form.min, form.max};
    return builder_.SeparatedSequence({&part, 1}, comma_);
  }
  Symbol tail = builder_.Nil();
  if (form.max > n) {
    const std::uint32_t min = form.min > n ? form.min - n : 0;
    const std::uint32_t max = form.max == kNoLimit ? kNoLimit : form.max - n;
    tail = builder_.Repeat(builder_.Sequence({comma_, OfGoal(form.rest)}), min, max);
  }
  for (std::uint32_t i = n; i-- > 0;) {
    const Symbol item = OfGoal(form.prefix[i]);
    tail = i == 0 ? builder_.Sequence({item, tail}) : builder_.Sequence({comma_, item, tail});
    if (i >= form.min) tail = builder_.Optional(tail);
  }
  return tail;
}

// Items out of a small set, none twice: a rule for each subset that has been used.
Result<Symbol> Emitter::UniqueArray(const ArrayForm& form, const Goal& goal) {
  const auto values = expander_.FewValues(form.rest);
  if (!form.prefix.empty() || !form.contains.empty() || !values) {
    return Complain(goal, ErrorCode::kUnsupported,
                    "uniqueItems: only items out of a small set can be kept apart");
  }
  const std::size_t n_sets = std::size_t{1} << values->size();
  std::vector<Symbol> rules(n_sets);
  for (std::size_t used = n_sets; used-- > 0;) {
    const auto count = static_cast<std::uint32_t>(__builtin_popcountll(used));
    std::vector<Symbol> ways;
    if (count >= form.min) ways.push_back(builder_.Nil());
    for (std::size_t i = 0; i < values->size() && count < form.max; ++i) {
      if ((used >> i) & 1) continue;
      const Symbol item = OfGoal((*values)[i]);
      const Symbol then = rules[used | (std::size_t{1} << i)];
      ways.push_back(count == 0 ? builder_.Sequence({item, then})
                                : builder_.Sequence({comma_, item, then}));
    }
    rules[used] = builder_.Choice(ways);
  }
  return rules[0];
}

// A rule for how many items stand there, and how many of them are wanted ones.
Result<Symbol> Emitter::ContainingArray(const ArrayForm& form, const Goal& goal) {
  const ArrayForm::Contains& wanted = form.contains[0];
  if (form.contains.size() > 1) {
    return Complain(goal, ErrorCode::kUnsupported, "contains: more than one at a time");
  }
  const bool is_capped = wanted.max != kNoLimit;
  // Row 0 is the only one without a comma in front, so the last row, which repeats, is another.
  const std::size_t n_items = std::max<std::size_t>(
      {1, form.prefix.size(), wanted.first, form.min, form.max == kNoLimit ? 0 : form.max});
  const std::size_t n_wanted = is_capped ? wanted.max : wanted.min;
  if (n_items > 500 || n_wanted > 500 || (n_items + 1) * (n_wanted + 1) > 2000) {
    return Complain(goal, ErrorCode::kResourceExhausted, "contains: too many items to count");
  }
  Goal unwanted;
  if (is_capped && !wanted.goal.empty()) unwanted = {wanted.goal[0] ^ 1u};
  if (is_capped && wanted.goal.empty()) unwanted = {kNeverClaim};
  std::vector<std::vector<Symbol>> rules(n_items + 1);
  for (auto& row : rules) {
    for (std::size_t c = 0; c <= n_wanted; ++c) row.push_back(builder_.Rule("contains"));
  }
  for (std::size_t i = 0; i <= n_items; ++i) {
    const Goal& item = i < form.prefix.size() ? form.prefix[i] : form.rest;
    const std::size_t next = std::min(i + 1, n_items);
    for (std::size_t c = 0; c <= n_wanted; ++c) {
      std::vector<Symbol> ways;
      if (i >= form.min && c >= wanted.min) ways.push_back(builder_.Nil());
      const auto add = [&](const Goal& value, std::size_t then) {
        const Symbol one = OfGoal(value);
        ways.push_back(i == 0 ? builder_.Sequence({one, rules[next][then]})
                              : builder_.Sequence({comma_, one, rules[next][then]}));
      };
      // At the cap the rule comes back to itself, which must mean "any further item".
      const bool may_go_on = form.max == kNoLimit || i < form.max;
      if (may_go_on && i < wanted.first) add(item, c);
      if (may_go_on && i >= wanted.first) {
        add(Both(item, unwanted), c);
        if (c < n_wanted) add(Both(item, wanted.goal), c + 1);
      }
      builder_.Define(rules[i][c], builder_.Choice(ways));
    }
  }
  return rules[0][0];
}

}  // namespace lattice::grammar
