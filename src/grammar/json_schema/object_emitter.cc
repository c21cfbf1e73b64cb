#include <algorithm>

#include "grammar/json_schema/emitter.h"

namespace lattice::grammar {
namespace {

constexpr std::size_t kMaxPatterns = 8;
constexpr std::size_t kMaxCountedRules = 4'000;

}  // namespace

Symbol Emitter::Pair(Expr key, const Goal& value) {
  return builder_.Sequence({builder_.Terminal(key), colon_, OfGoal(value)});
}

Result<Symbol> Emitter::Object(const ObjectForm& form, const Goal& goal) {
  Symbol members;
  if (form.witnesses.empty()) {
    LATTICE_TRY(members, MembersOf(form, nullptr, goal));
  } else {
    LATTICE_TRY(members, ObjectWithWitness(form, goal));
  }
  return builder_.Sequence({open_object_, members, close_object_});
}

// Either a declared member is the one that is wanted, or one of the others.
Result<Symbol> Emitter::ObjectWithWitness(const ObjectForm& form, const Goal& goal) {
  if (form.witnesses.size() > 1) {
    return Complain(goal, ErrorCode::kUnsupported,
                    "several rules for members cannot be broken at a time");
  }
  const ObjectForm::Rule& witness = form.witnesses[0];
  std::vector<Symbol> ways;
  for (std::size_t i = 0; i < form.properties.size(); ++i) {
    if (!expander_.shapes().Contains(witness.keys, form.properties[i].name)) continue;
    ObjectForm with = form;
    with.witnesses.clear();
    with.properties[i].required = true;
    with.properties[i].goal = Both(with.properties[i].goal, witness.goal);
    LATTICE_TRY(ways.emplace_back(), MembersOf(with, nullptr, goal));
  }
  LATTICE_TRY(ways.emplace_back(), MembersOf(form, &witness, goal));
  return builder_.Choice(ways);
}

Result<Symbol> Emitter::MembersOf(const ObjectForm& form, const ObjectForm::Rule* witness,
                                  const Goal& goal) {
  std::vector<const ObjectForm::Property*> ordered;
  for (const auto& property : form.properties) ordered.push_back(&property);
  std::stable_partition(ordered.begin(), ordered.end(), [](const auto* p) { return p->declared; });
  std::vector<Member> members;
  for (const ObjectForm::Property* property : ordered) {
    const Goal value = expander_.GoalOf(form, *property);
    if (IsNever(value) && property->required) return builder_.Never();
    if (IsNever(value)) continue;
    members.push_back({Pair(strings_.Name(property->name), value), property->required});
  }
  if (witness != nullptr) {
    LATTICE_TRY(const Extra wanted, Undeclared(form, witness, goal));
    if (!wanted.exists) return builder_.Never();
    if (form.min > 1 || form.max != kNoLimit) {
      return Complain(goal, ErrorCode::kUnsupported, "a counted object with a member of its own");
    }
    members.push_back({wanted.pair, true});
  }
  LATTICE_TRY(const Extra extra, Undeclared(form, nullptr, goal));
  const auto n_required = static_cast<std::uint32_t>(
      std::ranges::count_if(members, [](const Member& m) { return m.required; }));
  const bool counted =
      form.min > n_required || form.max < (extra.exists ? kNoLimit : members.size());
  if (counted) return CountedMembers(members, extra, form, goal);
  std::vector<SequencePart> parts;
  for (std::size_t i = 0; i < members.size(); ++i) {
    // Others may stand on both sides of the one that is wanted among them.
    if (witness != nullptr && i + 1 == members.size() && extra.exists) {
      parts.push_back({extra.pair, 0, kNoLimit});
    }
    parts.push_back({members[i].pair, members[i].required ? 1u : 0u, 1});
  }
  if (extra.exists) parts.push_back({extra.pair, 0, kNoLimit});
  return builder_.SeparatedSequence(parts, comma_);
}

Expr Emitter::KeysOf(const ObjectForm& form, const std::vector<Expr>& in,
                     const std::vector<Expr>& out) {
  std::vector<std::string> declared;
  for (const ObjectForm::Property& property : form.properties) {
    const auto matches = [&](Expr e) { return strings_.Matches(e, property.name); };
    if (std::ranges::all_of(in, matches)) declared.push_back(property.name);
  }
  std::vector<Expr> all = in;
  if (in.empty() || !declared.empty()) all.push_back(strings_.AllBut(declared));
  for (const Expr e : out) all.push_back(builder_.Not(e));
  return builder_.And(all);
}

// Keys that are not declared, by which patterns match them.
Result<std::vector<Emitter::KeyClass>> Emitter::KeyClasses(const ObjectForm& form,
                                                           const ObjectForm::Rule* witness,
                                                           const Goal& goal) {
  std::vector<Expr> patterns;
  const auto add = [&](Expr e) {
    if (std::ranges::find(patterns, e) == patterns.end()) patterns.push_back(e);
  };
  const auto add_all = [&](const KeySet& keys) {
    if (!keys.is_rest) add(keys.pattern);
    for (const Expr e : keys.patterns) add(e);
  };
  for (const ObjectForm::Rule& rule : form.rules) add_all(rule.keys);
  if (witness != nullptr) add_all(witness->keys);
  if (patterns.size() > kMaxPatterns) {
    return Complain(goal, ErrorCode::kResourceExhausted, "too many patterns of keys at a time");
  }
  std::vector<KeyClass> classes;
  for (std::size_t set = 0; set < (std::size_t{1} << patterns.size()); ++set) {
    std::vector<Expr> in = form.names, out;
    KeyClass made;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      const bool is_in = (set >> i) & 1;
      (is_in ? in : out).push_back(patterns[i]);
      if (is_in) made.in.push_back(patterns[i]);
    }
    LATTICE_TRY_VOID(expander_.shapes().Spend(20));
    made.keys = KeysOf(form, in, out);
    if (in.size() + out.size() > 1) {
      LATTICE_TRY(const bool some, builder_.MatchesSomething(made.keys));
      if (!some) continue;
    }
    classes.push_back(std::move(made));
  }
  return classes;
}

Result<Emitter::Extra> Emitter::Undeclared(const ObjectForm& form, const ObjectForm::Rule* witness,
                                           const Goal& goal) {
  LATTICE_TRY(const std::vector<KeyClass> classes, KeyClasses(form, witness, goal));
  std::vector<Symbol> pairs;
  for (const KeyClass& keys : classes) {
    const auto covers = [&](const KeySet& set) {
      const auto matches = [&](Expr e) { return std::ranges::find(keys.in, e) != keys.in.end(); };
      // The names that a rule excepts are all properties of the form: not among these keys.
      return set.is_rest ? std::ranges::none_of(set.patterns, matches) : matches(set.pattern);
    };
    Goal value;
    for (const ObjectForm::Rule& rule : form.rules) {
      if (covers(rule.keys)) value = Both(value, rule.goal);
    }
    if (witness != nullptr) {
      if (!covers(witness->keys)) continue;
      value = Both(value, witness->goal);
    }
    if (!IsNever(value)) pairs.push_back(Pair(keys.keys, value));
  }
  return Extra{builder_.Choice(pairs), !pairs.empty()};
}

// A rule for each declared member and count of those before it.
Result<Symbol> Emitter::CountedMembers(const std::vector<Member>& members, const Extra& extra,
                                       const ObjectForm& form, const Goal& goal) {
  const std::uint32_t cap = form.max != kNoLimit ? form.max : form.min;
  std::size_t n_counts = std::size_t{cap} + 1;
  if (form.max != kNoLimit && !extra.exists) n_counts = std::min(n_counts, members.size() + 1);
  if (n_counts * (members.size() + 1) > kMaxCountedRules) {
    return Complain(goal, ErrorCode::kResourceExhausted, "too many members to count");
  }
  std::vector<Symbol> next(n_counts);
  for (std::size_t c = 0; c < n_counts; ++c) {
    const auto n = static_cast<std::uint32_t>(c);
    const std::uint32_t least = form.min > n ? form.min - n : 0;
    const std::uint32_t most = form.max == kNoLimit ? kNoLimit : form.max - n;
    if (least > 1 && extra.exists) {
      // A key that comes twice counts once, and no rule can see that.
      return Complain(goal, ErrorCode::kUnsupported,
                      "minProperties: more members than one beyond the declared ones");
    }
    const SequencePart part{extra.pair, least, most};
    if (!extra.exists) {
      next[c] = least == 0 ? builder_.Nil() : builder_.Never();
    } else if (c == 0) {
      next[c] = builder_.SeparatedSequence({&part, 1}, comma_);
    } else {
      next[c] = builder_.Repeat(builder_.Sequence({comma_, extra.pair}), least, most);
    }
  }
  for (std::size_t i = members.size(); i-- > 0;) {
    std::vector<Symbol> here(n_counts);
    for (std::size_t c = 0; c < n_counts; ++c) {
      std::vector<Symbol> ways;
      if (!members[i].required) ways.push_back(next[c]);
      const bool has_room = c + 1 < n_counts || (form.max == kNoLimit);
      if (has_room) {
        const Symbol then = next[std::min(c + 1, n_counts - 1)];
        ways.push_back(c == 0 ? builder_.Sequence({members[i].pair, then})
                              : builder_.Sequence({comma_, members[i].pair, then}));
      }
      here[c] = builder_.Choice(ways);
    }
    next = std::move(here);
  }
  return next[0];
}

}  // namespace lattice::grammar
