#include "decoding/grammar_mask.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "base/json.h"
#include "decoding/grammar_cache.h"
#include "decoding/sampler.h"
#include "grammar/regex.h"

namespace lattice::decoding {
namespace {

std::shared_ptr<const tokenizers::Tokenizer> Load(const char* name) {
  auto loaded = tokenizers::Tokenizer::FromFolder(std::filesystem::path(LATTICE_FIXTURES) / name);
  if (!loaded) ADD_FAILURE() << loaded.error().message;
  return loaded ? *loaded : nullptr;
}

bool Allows(LogitMask& mask, std::size_t n_tokens, TokenId id) {
  std::vector<std::uint64_t> bits((n_tokens + 63) / 64, UINT64_MAX);
  const Status filled = mask.Fill(bits);
  if (!filled) ADD_FAILURE() << filled.error().message;
  return (bits[static_cast<std::size_t>(id) / 64] >> (id % 64) & 1) != 0;
}

constexpr std::string_view kRecord =
    R"(\{"name": "[^"\\\x00-\x1f]{1,8}", "n": -?(0|[1-9][0-9]{0,3}), )"
    R"("tags": \[("x"|"y\\n")(, ("x"|"y\\n")){0,3}\]\})";

TEST(GrammarMaskTest, RandomTextsAreTextsOfTheGrammar) {
  for (const char* name : {"llama", "qwen3", "gemma3"}) {
    const auto tokenizer = Load(name);
    ASSERT_NE(tokenizer, nullptr);
    const std::size_t n_tokens = tokenizer->vocab_size() + 100;  // ids that no token has
    GrammarCache cache(tokenizer, n_tokens);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      auto automaton = cache.Get({GrammarKind::kRegex, std::string(kRecord)});
      ASSERT_TRUE(automaton) << automaton.error().message;
      GrammarMask mask(*automaton, tokenizer, {2});
      auto sampler = Sampler::Create({.temperature = 1.5f, .seed = seed}, n_tokens);
      ASSERT_TRUE(sampler);
      sampler->SetMask(&mask);
      std::mt19937_64 random(seed);
      std::vector<float> row(n_tokens);
      std::vector<TokenId> ids;
      while (!mask.IsOver()) {
        for (float& x : row) x = static_cast<float>(random() % 1000) / 100;
        auto id = sampler->Sample(row);
        ASSERT_TRUE(id) << id.error().message;
        ASSERT_TRUE(sampler->Accept(*id));
        ids.push_back(*id);
        ASSERT_LT(ids.size(), 400u);
      }
      const auto text = tokenizer->Decode(ids, /*skip_special_tokens=*/true);
      ASSERT_TRUE(text);
      const auto json = ParseJson(*text);
      ASSERT_TRUE(json) << name << ", seed " << seed << ": " << *text;
      const auto& object = json->get_object();
      EXPECT_EQ(object.size(), 3u);
      EXPECT_LT(object.at("n").to_number<int>(), 10'000);
      EXPECT_LE(object.at("tags").get_array().size(), 4u);
    }
  }
}

TEST(GrammarMaskTest, OnlyAnEndMayFollowWhatIsComplete) {
  const auto tokenizer = Load("qwen3");
  ASSERT_NE(tokenizer, nullptr);
  const std::size_t n_tokens = tokenizer->vocab_size();
  GrammarCache cache(tokenizer, n_tokens);
  const TokenId a = *tokenizer->Find("a");
  const TokenId b = *tokenizer->Find("b");
  const TokenId end = static_cast<TokenId>(n_tokens) - 1;
  GrammarMask mask(*cache.Get({GrammarKind::kRegex, "ab?"}), tokenizer, {end});
  EXPECT_FALSE(Allows(mask, n_tokens, end));
  EXPECT_FALSE(mask.Accept(end));
  EXPECT_FALSE(mask.Accept(b));
  ASSERT_TRUE(mask.Accept(a));
  EXPECT_TRUE(Allows(mask, n_tokens, end));
  EXPECT_TRUE(Allows(mask, n_tokens, b));
  EXPECT_FALSE(Allows(mask, n_tokens, a));
  EXPECT_FALSE(mask.IsOver());
  ASSERT_TRUE(mask.Accept(b));
  EXPECT_TRUE(mask.IsOver());
  EXPECT_FALSE(Allows(mask, n_tokens, b));
  ASSERT_TRUE(mask.Accept(end));
  EXPECT_TRUE(mask.IsOver());
  EXPECT_FALSE(mask.Accept(a));
}

TEST(GrammarMaskTest, ControlTokensComeWhereAGrammarNamesThem) {
  const auto tokenizer = Load("qwen3");
  ASSERT_NE(tokenizer, nullptr);
  const std::size_t n_tokens = tokenizer->vocab_size();
  const TokenId mark = *tokenizer->Find("<think>"), other = *tokenizer->Find("</think>");
  const TokenId byte = *tokenizer->Find("\u00ff"), letter = *tokenizer->Find("a");
  const auto vocabulary = MakeVocabulary(*tokenizer, n_tokens, std::vector{mark});
  EXPECT_EQ(vocabulary->token(mark), "\xFF<think>");
  EXPECT_EQ(vocabulary->token(other), "");
  EXPECT_EQ(vocabulary->token(byte), "");
  grammar::GrammarBuilder builder;
  const auto root =
      builder.Terminal(builder.Concat({builder.Repeat(builder.Chars(grammar::CharSet::All()), 0, 5),
                                       builder.Literal("\xFF<think>")}));
  const auto grammar = std::move(builder).Build(root);
  ASSERT_TRUE(grammar);
  GrammarMask held(std::make_shared<grammar::Automaton>(*grammar, vocabulary), tokenizer, {});
  EXPECT_TRUE(Allows(held, n_tokens, mark));
  EXPECT_FALSE(Allows(held, n_tokens, other));
  EXPECT_FALSE(Allows(held, n_tokens, byte));
  ASSERT_TRUE(held.Accept(letter));
  ASSERT_TRUE(held.Accept(mark));
  EXPECT_TRUE(held.IsOver());
  GrammarCache cache(tokenizer, n_tokens, std::vector{mark});
  GrammarMask free(*cache.Get({GrammarKind::kRegex, "[^a]*"}), tokenizer, {});
  EXPECT_FALSE(Allows(free, n_tokens, mark));
}

TEST(GrammarMaskTest, TheGrammarBeginsWhereThinkingEnds) {
  const auto tokenizer = Load("qwen3");
  ASSERT_NE(tokenizer, nullptr);
  const std::size_t n_tokens = tokenizer->vocab_size();
  GrammarCache cache(tokenizer, n_tokens);
  const TokenId a = *tokenizer->Find("a");
  const TokenId b = *tokenizer->Find("b");
  const TokenId line = *tokenizer->Find("\u010a");
  const TokenId open = static_cast<TokenId>(n_tokens) - 3;
  const TokenId close = open + 1, end = open + 2;
  const auto automaton = *cache.Get({GrammarKind::kRegex, "a+"});

  GrammarMask thinks(automaton, tokenizer, {end}, ThinkingMarks{open, close, false});
  EXPECT_TRUE(Allows(thinks, n_tokens, open));
  EXPECT_FALSE(Allows(thinks, n_tokens, b));
  ASSERT_TRUE(thinks.Accept(open));
  EXPECT_TRUE(Allows(thinks, n_tokens, b));
  EXPECT_FALSE(Allows(thinks, n_tokens, end));
  ASSERT_TRUE(thinks.Accept(b));
  ASSERT_TRUE(thinks.Accept(close));
  EXPECT_FALSE(Allows(thinks, n_tokens, b));
  EXPECT_FALSE(Allows(thinks, n_tokens, open));
  ASSERT_TRUE(thinks.Accept(line));
  ASSERT_TRUE(thinks.Accept(line));
  EXPECT_FALSE(Allows(thinks, n_tokens, line));
  EXPECT_TRUE(Allows(thinks, n_tokens, a));
  ASSERT_TRUE(thinks.Accept(a));
  EXPECT_FALSE(Allows(thinks, n_tokens, line));
  EXPECT_TRUE(Allows(thinks, n_tokens, end));

  GrammarMask skips(automaton, tokenizer, {end}, ThinkingMarks{open, close, false});
  ASSERT_TRUE(skips.Accept(a));
  EXPECT_FALSE(Allows(skips, n_tokens, open));

  GrammarMask inside(automaton, tokenizer, {end}, ThinkingMarks{{}, close, true});
  EXPECT_TRUE(Allows(inside, n_tokens, b));
  EXPECT_FALSE(inside.IsOver());
}

TEST(GrammarMaskTest, WhatIsCertainComesInTheTokenizersTokens) {
  for (const char* name : {"llama", "qwen3", "gemma3"}) {
    const auto tokenizer = Load(name);
    ASSERT_NE(tokenizer, nullptr);
    const std::size_t n_tokens = tokenizer->vocab_size();
    GrammarCache cache(tokenizer, n_tokens);
    const std::string certain = "the other and then nothing";
    GrammarMask mask(*cache.Get({GrammarKind::kRegex, certain + "!?"}), tokenizer, {2});
    std::vector<TokenId> ids;
    while (true) {
      const auto forced = mask.Forced();
      ASSERT_TRUE(forced) << forced.error().message;
      if (!*forced) break;
      std::vector<std::uint64_t> bits((n_tokens + 63) / 64, UINT64_MAX);
      ASSERT_TRUE(mask.Fill(bits));
      std::vector<TokenId> left;
      for (TokenId id = 0; id < static_cast<TokenId>(n_tokens); ++id) {
        if ((bits[static_cast<std::size_t>(id) / 64] >> (id % 64) & 1) != 0) left.push_back(id);
      }
      ASSERT_EQ(left, std::vector<TokenId>{**forced});
      // Banned, it is not the only one, unless nothing else spells the text.
      std::ranges::fill(bits, UINT64_MAX);
      grammar::ClearBit(bits, **forced);
      ASSERT_TRUE(mask.Fill(bits));
      EXPECT_EQ(bits[static_cast<std::size_t>(**forced) / 64] >> (**forced % 64) & 1, 0u);
      ASSERT_TRUE(mask.Accept(**forced));
      ids.push_back(**forced);
    }
    const auto text = tokenizer->Decode(ids, /*skip_special_tokens=*/true);
    ASSERT_TRUE(text);
    EXPECT_EQ(*text, certain) << name;
    EXPECT_TRUE(Allows(mask, n_tokens, 2)) << "the text may end here";
    if (std::string_view(name) == "llama") continue;  // puts a space before a text
    const auto encoded = tokenizer->Encode(certain, {.add_special_tokens = false});
    ASSERT_TRUE(encoded);
    EXPECT_EQ(ids, encoded->ids) << name;
  }
}

TEST(GrammarMaskTest, NothingIsCertainWhereATokenMayGoPastIt) {
  const auto vocabulary = std::make_shared<const grammar::Vocabulary>(
      std::vector<std::string>{"a", "b", "ab", "abc", "c", "abd", "d"});
  const auto tokenizer = Load("qwen3");
  const auto after = [&](std::string_view pattern) {
    grammar::GrammarBuilder builder;
    const auto e = grammar::ParseRegex(pattern, builder);
    const auto start = builder.Terminal(*e);
    const auto built = std::move(builder).Build(start);
    grammar::Matcher text(std::make_shared<grammar::Automaton>(*built, vocabulary));
    return *ForcedTokens(vocabulary, tokenizer).After(text);
  };
  EXPECT_EQ(after("abe*"), 2);
  EXPECT_EQ(after("ab(c|e)"), std::nullopt);  // abc
  EXPECT_EQ(after("ab(e|f)"), 2);             // abc and abd are no such texts
  EXPECT_EQ(after("(ab)?"), std::nullopt);
  EXPECT_EQ(after("a|b"), std::nullopt);
  EXPECT_EQ(after("dz"), 6);
}

TEST(GrammarCacheTest, KeepsWhatFits) {
  const auto tokenizer = Load("llama");
  ASSERT_NE(tokenizer, nullptr);
  GrammarCache cache(tokenizer, tokenizer->vocab_size(), {}, /*max_bytes=*/200'000);
  const GrammarText text{GrammarKind::kRegex, "[a-z]+"};
  const auto first = *cache.Get(text);
  EXPECT_EQ(*cache.Get(text), first);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(cache.Get({GrammarKind::kRegex, std::to_string(i)}));
  EXPECT_NE(*cache.Get(text), first);
  EXPECT_FALSE(cache.Get({GrammarKind::kRegex, "("}));
  EXPECT_FALSE(cache.Get({GrammarKind::kGbnf, "root"}));
}

TEST(GrammarCacheTest, ChoicesAreTexts) {
  const auto grammar = CompileGrammar(ChoiceGrammar({"a.b", "(\u00e9", ""}));
  ASSERT_TRUE(grammar);
  for (const char* text : {"a.b", "(\u00e9", ""}) EXPECT_TRUE(*grammar::Matches(*grammar, text));
  EXPECT_FALSE(*grammar::Matches(*grammar, "axb"));
}

}  // namespace
}  // namespace lattice::decoding
