#include "grammar/matcher.h"

#include <gtest/gtest.h>

#include "grammar/test_grammars.h"

namespace lattice::grammar {
namespace {

bool Accepts(const std::shared_ptr<const Grammar>& grammar, std::string_view text) {
  auto matched = Matches(grammar, text);
  if (!matched) ADD_FAILURE() << matched.error().message;
  return matched && *matched;
}

TEST(MatcherTest, LeftRecursionAndAmbiguity) {
  GrammarBuilder b;
  const Symbol e = b.Rule("e");
  b.Define(e, b.Choice({b.Sequence({e, b.Text("+"), e}), b.Sequence({e, e}), b.Text("a"),
                        b.Sequence({b.Text("("), e, b.Text(")")})}));
  const auto grammar = MustBuild(std::move(b), e);
  EXPECT_TRUE(Accepts(grammar, "a"));
  EXPECT_TRUE(Accepts(grammar, "a+a(a+a)a"));
  EXPECT_FALSE(Accepts(grammar, "a+"));
  EXPECT_FALSE(Accepts(grammar, "a++a"));
  EXPECT_FALSE(Accepts(grammar, ""));
  EXPECT_TRUE(Accepts(grammar, std::string(300, 'a')));
}

TEST(MatcherTest, NullableRulesInRepetitions) {
  GrammarBuilder b;
  const Symbol sp = b.Rule("sp"), ws = b.Rule("ws");
  b.Define(sp, b.Repeat(b.Text(" "), 0, kNoLimit));
  b.Define(ws, b.Repeat(b.Choice({sp, b.Text("\n")}), 0, kNoLimit));
  const auto grammar = MustBuild(std::move(b), b.Sequence({ws, b.Text("x"), ws}));
  EXPECT_TRUE(Accepts(grammar, "x"));
  EXPECT_TRUE(Accepts(grammar, "  \n \nx\n"));
  EXPECT_FALSE(Accepts(grammar, "  \n \n"));
}

TEST(MatcherTest, NullableRulesWithinRules) {
  GrammarBuilder b;
  const Symbol a = b.Rule("a"), c = b.Rule("c"), d = b.Rule("d");
  // d = c c | ( d ), c = a | "", a = d "y" | "x": empty, left recursive, and each within another.
  b.Define(a, b.Choice({b.Sequence({d, b.Text("y")}), b.Text("x")}));
  b.Define(c, b.Choice({a, b.Nil()}));
  b.Define(d, b.Choice({b.Sequence({c, c}), b.Sequence({b.Text("("), d, b.Text(")")})}));
  const auto grammar = MustBuild(std::move(b), d);
  for (const char* text : {"", "x", "xx", "y", "xyy", "(x)", "(())", "(x)y", "()yx"}) {
    EXPECT_TRUE(Accepts(grammar, text)) << text;
  }
  for (const char* text : {"(", ")(", "x)", "()x", "(x"}) {
    EXPECT_FALSE(Accepts(grammar, text)) << text;
  }
}

TEST(MatcherTest, RightRecursionNeedsNoMemory) {
  GrammarBuilder b;
  const Symbol list = b.Rule("list"), item = b.Rule("item");
  b.Define(item, b.Sequence({b.Text("["), b.Optional(list), b.Text("]")}));
  b.Define(list, b.Choice({b.Sequence({item, b.Text(","), list}), item}));
  const auto grammar = MustBuild(std::move(b), list);
  Automaton automaton(grammar, nullptr);
  std::string text = "[]";
  auto state = automaton.Next(automaton.start(), text);
  const std::size_t before = automaton.n_bytes();
  for (int i = 0; i < 10'000; ++i) state = automaton.Next(*state, ",[[]]");
  EXPECT_TRUE(automaton.is_complete(*state));
  EXPECT_LT(automaton.n_bytes(), before + 20'000);
}

TEST(MatcherTest, RepetitionsOfRulesAreCounted) {
  GrammarBuilder b;
  const Symbol nested = b.Rule("nested");
  b.Define(nested, b.Choice({b.Text("x"), b.Sequence({b.Text("("), nested, b.Text(")")})}));
  const auto grammar = MustBuild(std::move(b), b.Repeat(nested, 2, 50'000));
  EXPECT_FALSE(Accepts(grammar, "(x)"));
  EXPECT_TRUE(Accepts(grammar, "(x)x"));
  Matcher matcher(grammar);
  for (int i = 0; i < 25'000; ++i) ASSERT_TRUE(matcher.Accept("(x)x"));
  EXPECT_TRUE(matcher.is_complete());
  EXPECT_FALSE(matcher.can_continue());
  EXPECT_FALSE(matcher.Accept("x"));
}

TEST(MatcherTest, DeepNestingOfTexts) {
  GrammarBuilder b;
  const Symbol nested = b.Rule("nested");
  b.Define(nested, b.Sequence({b.Text("["), b.Repeat(nested, 0, kNoLimit), b.Text("]")}));
  const auto grammar = MustBuild(std::move(b), nested);
  EXPECT_TRUE(Accepts(grammar, std::string(100'000, '[') + std::string(100'000, ']')));
  EXPECT_FALSE(Accepts(grammar, std::string(1000, '[') + std::string(999, ']')));
}

TEST(MatcherTest, DeepNestingOfSymbols) {
  GrammarBuilder b;
  const Symbol stop = b.Rule("stop");
  Symbol s = b.Choice({stop, b.Text("x")});
  for (int i = 0; i < 100'000; ++i) s = b.Sequence({b.Text("("), s, b.Text(")")});
  b.Define(stop, b.Sequence({b.Text("<"), s, b.Text(">")}));
  const auto grammar = MustBuild(std::move(b), s);
  EXPECT_TRUE(Accepts(grammar, std::string(100'000, '(') + "x" + std::string(100'000, ')')));
}

TEST(MatcherTest, SeparatedParts) {
  GrammarBuilder b;
  const SequencePart parts[] = {
      {b.Text("a"), 0, 1}, {b.Text("b")}, {b.Text("c"), 0, kNoLimit}, {b.Text("d"), 2, 3}};
  const auto grammar = MustBuild(std::move(b), b.SeparatedSequence(parts, b.Text(",")));
  for (const char* text : {"b,d,d", "a,b,d,d,d", "a,b,c,c,c,d,d"}) {
    EXPECT_TRUE(Accepts(grammar, text)) << text;
  }
  for (const char* text : {"", "a,d,d", "b,d", ",b,d,d", "b,,d,d", "b,d,d,", "b,d,d,d,d"}) {
    EXPECT_FALSE(Accepts(grammar, text)) << text;
  }
}

TEST(MatcherTest, WhatCannotEndIsLeftOut) {
  GrammarBuilder b;
  const Symbol endless = b.Rule("endless");
  b.Define(endless, b.Sequence({b.Text("a"), endless}));
  const Symbol root = b.Choice({b.Text("ab"), endless});
  const auto grammar = MustBuild(std::move(b), root);
  EXPECT_TRUE(Accepts(grammar, "ab"));
  Matcher matcher(grammar);
  EXPECT_FALSE(matcher.Accept("aa"));

  GrammarBuilder c;
  const Symbol cycle = c.Rule("cycle");
  c.Define(cycle, cycle);
  EXPECT_FALSE(std::move(c).Build(cycle).has_value());
  GrammarBuilder d;
  const auto undefined = std::move(d).Build(d.Rule("missing"));
  ASSERT_FALSE(undefined);
  EXPECT_NE(undefined.error().message.find("'missing'"), std::string::npos);
}

TEST(MatcherTest, IntersectionsAndComplementsHaveNoDeadEnds) {
  GrammarBuilder b;
  const Expr word = MustParse(b, "[a-z]{1,8}");
  const auto grammar = MustBuild(
      std::move(b),
      b.Terminal(b.And({word, b.Not(MustParse(b, "if|in|a.*")), MustParse(b, ".*[xyz]|i.")})));
  EXPECT_FALSE(Accepts(grammar, "if"));
  EXPECT_FALSE(Accepts(grammar, "in"));
  EXPECT_TRUE(Accepts(grammar, "it"));
  EXPECT_TRUE(Accepts(grammar, "box"));
  Matcher matcher(grammar);
  EXPECT_FALSE(matcher.Accept("a"));  // nothing that begins with it is left
  EXPECT_TRUE(matcher.Accept("bcdefgh"));
  EXPECT_FALSE(matcher.Accept("i"));  // the eighth letter must be x, y or z
  EXPECT_TRUE(matcher.Accept("x"));
  EXPECT_FALSE(matcher.can_continue());
}

TEST(MatcherTest, NothingFollowsWhereOnlyTheEmptyTextIsLeft) {
  GrammarBuilder b;
  const Expr ends = b.And({MustParse(b, "8(0*[1-3])?"), b.Not(MustParse(b, ".*[1-3]"))});
  const Expr empty = b.And({MustParse(b, "b?"), b.Not(MustParse(b, "b"))});
  Matcher matcher(MustBuild(std::move(b), b.Sequence({b.Terminal(ends), b.Terminal(empty)})));
  EXPECT_FALSE(matcher.Accept("80"));
  ASSERT_TRUE(matcher.Accept("8"));
  EXPECT_TRUE(matcher.is_complete());
  EXPECT_FALSE(matcher.can_continue());
}

TEST(MatcherTest, StepsAreTakenBackAndForked) {
  GrammarBuilder b;
  Matcher matcher(MustBuild(std::move(b), b.Terminal(MustParse(b, "ab|ac(d|e)"))));
  ASSERT_TRUE(matcher.Accept("a"));
  Matcher fork = matcher;
  ASSERT_TRUE(matcher.Accept("b"));
  EXPECT_TRUE(matcher.is_complete());
  matcher.Rollback(1);
  EXPECT_FALSE(matcher.is_complete());
  ASSERT_TRUE(matcher.Accept("c"));
  ASSERT_TRUE(fork.Accept("b"));
  EXPECT_TRUE(fork.is_complete());
  EXPECT_EQ(*matcher.Forced(8), "");
  matcher.Rollback(2);
  EXPECT_EQ(*matcher.Forced(8), "a");
}

TEST(MatcherTest, LimitsAreErrors) {
  GrammarBuilder b({.max_expressions = 50});
  b.Literal(std::string(100, 'x') + "y");
  for (int i = 0; i < 60; ++i) b.Literal(std::string(static_cast<std::size_t>(i), 'y'));
  const auto too_large = std::move(b).Build(b.Text("a"));
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().code, ErrorCode::kResourceExhausted);

  GrammarBuilder c;
  const auto grammar = MustBuild(std::move(c), c.Terminal(MustParse(c, "(a|b){0,1000}c")));
  AutomatonLimits limits;
  limits.parser.lexer.max_states = 100;
  Automaton automaton(grammar, nullptr, limits);
  const auto state = automaton.Next(automaton.start(), std::string(500, 'a'));
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace lattice::grammar
