#include <gtest/gtest.h>

#include "grammar/matcher.h"
#include "grammar/test_grammars.h"

namespace lattice::grammar {
namespace {

// Along random texts, each mask is what trying every token says.
void ExpectTrueMasks(const std::shared_ptr<const Grammar>& grammar, std::uint64_t seed,
                     int n_texts = 20, int max_steps = 60) {
  ASSERT_NE(grammar, nullptr);
  const auto vocabulary = SmallVocabulary();
  const auto automaton = std::make_shared<Automaton>(grammar, vocabulary);
  std::mt19937_64 random(seed);
  for (int text = 0; text < n_texts; ++text) {
    Matcher matcher(automaton);
    std::string made;
    for (int step = 0; step < max_steps; ++step) {
      TokenBits bits(vocabulary->n_words() + 1, UINT64_MAX);
      ASSERT_TRUE(matcher.Fill(bits));
      std::vector<TokenId> allowed;
      for (TokenId id = 0; id < static_cast<TokenId>(vocabulary->size()); ++id) {
        const bool is_set = (bits[static_cast<std::size_t>(id) / 64] >> (id % 64) & 1) != 0;
        const bool goes_on = matcher.AcceptToken(id).has_value();
        if (goes_on) matcher.Rollback(1);
        ASSERT_EQ(is_set, goes_on) << "seed " << seed << ", token '" << vocabulary->token(id)
                                   << "' after '" << made << "'";
        if (is_set) allowed.push_back(id);
      }
      EXPECT_EQ(bits.back(), 0u);
      ASSERT_EQ(allowed.empty(), !matcher.can_continue());
      if (allowed.empty()) break;
      const TokenId id = allowed[random() % allowed.size()];
      ASSERT_TRUE(matcher.AcceptToken(id));
      made += vocabulary->token(id);
    }
  }
}

TEST(MaskTest, JsonStringsWithBounds) {
  for (const auto& [min, max] : {std::pair<std::uint32_t, std::uint32_t>{0, kNoLimit},
                                 {0, 3},
                                 {2, 5},
                                 {0, 100'000},
                                 {7, 9}}) {
    GrammarBuilder b;
    ExpectTrueMasks(MustBuild(std::move(b), b.Terminal(JsonString(b, min, max))), 1, 4, 24);
  }
}

TEST(MaskTest, NamesBesideDeclaredOnes) {
  GrammarBuilder b;
  const Expr name = b.Minus(JsonString(b, 0, kNoLimit),
                            b.Or({b.Literal("\"a\""), b.Literal("\"ab\""), b.Literal("\"aaaa\"")}));
  ExpectTrueMasks(MustBuild(std::move(b), b.Sequence({b.Text("{"), b.Terminal(name), b.Text("}")})),
                  2, 10, 20);
}

// Labels of other scripts, from their first character to their last.
TEST(MaskTest, HostNames) {
  GrammarBuilder b;
  const Expr names = b.Concat({b.Literal("\""), b.HostNames(), b.Literal("\"")});
  const Expr encoded = b.Concat({b.Literal("\"xn--"), b.AnyText()});
  ExpectTrueMasks(MustBuild(std::move(b), b.Terminal(b.And({names, encoded}))), 6, 4, 70);
}

TEST(MaskTest, NestedJson) {
  GrammarBuilder b;
  const Symbol value = b.Rule("value");
  const Symbol string = b.Terminal(JsonString(b, 0, 8));
  const Symbol ws = b.Terminal(MustParse(b, "[ \\n]{0,4}"));
  const Symbol comma = b.Sequence({b.Text(","), ws});
  const SequencePart members[] = {{b.Sequence({b.Text("\"a\":"), ws, value}), 0, 1},
                                  {b.Sequence({string, b.Text(":"), ws, value}), 0, 3}};
  const SequencePart items[] = {{value, 0, kNoLimit}};
  b.Define(
      value,
      b.Choice({string, b.Terminal(MustParse(b, "-?(0|[1-9][0-9]*)")), b.Text("true"),
                b.Text("null"),
                b.Sequence({b.Text("["), ws, b.SeparatedSequence(items, comma), b.Text("]")}),
                b.Sequence({b.Text("{"), ws, b.SeparatedSequence(members, comma), b.Text("}")})}));
  ExpectTrueMasks(MustBuild(std::move(b), value), 3, 30, 40);
}

TEST(MaskTest, AmbiguousAndLeftRecursive) {
  GrammarBuilder b;
  const Symbol e = b.Rule("e");
  b.Define(e, b.Choice({b.Sequence({e, b.Text("+"), e}), b.Sequence({e, e}),
                        b.Terminal(MustParse(b, "a+|[ab]{1,3}")),
                        b.Sequence({b.Text("("), b.Optional(e), b.Text(")")})}));
  ExpectTrueMasks(MustBuild(std::move(b), e), 4, 10, 20);
}

TEST(MaskTest, ReadingsThatDoubleWithEveryByte) {
  GrammarBuilder b;
  const Symbol s = b.Rule("s");
  b.Define(s, b.Choice({b.Sequence({b.Text("a"), s, b.Text("b")}),
                        b.Sequence({b.Text("a"), s, b.Text(")")}),
                        b.Sequence({b.Terminal(MustParse(b, "a|aa")), s, b.Text("+")}), b.Nil()}));
  ExpectTrueMasks(MustBuild(std::move(b), s), 5, 6, 20);
}

TEST(MaskTest, RandomRegularExpressions) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    GrammarBuilder b;
    std::vector<Expr> pool{b.Literal("a"),      b.Literal("ab"),       b.Literal("\""),
                           b.Literal(","),      MustParse(b, "[a-c]"), MustParse(b, "[^\"\\\\]"),
                           b.Literal("\u65e5"), b.Literal("")};
    const auto any = [&] { return pool[random() % pool.size()]; };
    for (int i = 0; i < 14; ++i) {
      switch (random() % 5) {
        case 0:
          pool.push_back(b.Or({any(), any()}));
          break;
        case 1: {
          const auto min = static_cast<std::uint32_t>(random() % 4);
          pool.push_back(b.Repeat(
              any(), min,
              random() % 2 != 0 ? kNoLimit : min + static_cast<std::uint32_t>(random() % 40)));
          break;
        }
        case 2:
          pool.push_back(b.And({any(), b.Not(any())}));
          break;
        default:
          pool.push_back(b.Concat({any(), any()}));
      }
    }
    const Expr e = pool.back();
    if (!*b.MatchesSomething(e)) continue;
    ExpectTrueMasks(MustBuild(std::move(b), b.Terminal(e)), seed, 3, 12);
  }
}

TEST(MaskTest, RandomGrammars) {
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    std::mt19937_64 random(seed);
    GrammarBuilder b;
    std::vector<Symbol> pool{b.Text("a"),
                             b.Text("b"),
                             b.Text("\""),
                             b.Nil(),
                             b.Terminal(MustParse(b, "[ab]*")),
                             b.Terminal(JsonString(b, 0, 3))};
    std::vector<Symbol> rules;
    for (int i = 0; i < 3; ++i) {
      rules.push_back(b.Rule("r"));
      pool.push_back(rules.back());
    }
    const auto any = [&] { return pool[random() % pool.size()]; };
    for (int i = 0; i < 12; ++i) {
      switch (random() % 4) {
        case 0:
          pool.push_back(b.Choice({any(), any()}));
          break;
        case 1: {
          const auto min = static_cast<std::uint32_t>(random() % 3);
          pool.push_back(b.Repeat(
              any(), min,
              random() % 2 != 0 ? kNoLimit : min + static_cast<std::uint32_t>(random() % 4)));
          break;
        }
        default:
          pool.push_back(b.Sequence({any(), any()}));
      }
    }
    for (const Symbol rule : rules) b.Define(rule, b.Choice({any(), any(), b.Text("x")}));
    const Symbol root = b.Sequence({pool.back(), rules[0]});
    ExpectTrueMasks(MustBuild(std::move(b), root), seed, 3, 12);
  }
}

}  // namespace
}  // namespace lattice::grammar
