#include "decoding/dry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

namespace lattice::decoding {
namespace {

using Ids = std::vector<TokenId>;

constexpr std::size_t kVocab = 12;

// What each token of the vocabulary loses after `text`.
std::map<TokenId, float> Losses(const SamplingOptions& options, const Ids& text,
                                std::shared_ptr<const tokenizers::Tokenizer> tokenizer = nullptr) {
  Dry dry(options, std::move(tokenizer));
  for (const TokenId id : text) dry.Accept(id);
  Candidates candidates;
  candidates.Assign(std::vector<float>(kVocab, 0.0f));
  const std::size_t n = std::min(text.size(), options.dry_window);
  dry.Apply(std::span(text).last(n), candidates);
  std::map<TokenId, float> losses;
  for (const Candidate& candidate : candidates.List()) {
    if (candidate.logit != 0) losses[candidate.id] = -candidate.logit;
  }
  return losses;
}

using LossMap = std::map<TokenId, float>;

SamplingOptions Plain(float multiplier, float base, std::size_t allowed) {
  return {.dry_multiplier = multiplier,
          .dry_base = base,
          .dry_allowed_length = allowed,
          .dry_sequence_breakers = {}};
}

TEST(DryTest, WhatWouldExtendARepetitionLosesMoreTheLongerItIs) {
  const Ids text = {1, 2, 3, 4, 9, 1, 2, 3};
  EXPECT_EQ(Losses(Plain(0.5f, 2, 2), text), (LossMap{{4, 0.5f * 2}}));
  EXPECT_EQ(Losses(Plain(0.5f, 2, 3), text), (LossMap{{4, 0.5f}}));
  EXPECT_EQ(Losses(Plain(0.5f, 2, 4), text), LossMap{});
}

TEST(DryTest, TheLongestRepetitionOfATokenCounts) {
  // After "2 3" stand 4 and 5; 4 also after "1 2 3".
  const Ids text = {1, 2, 3, 4, 2, 3, 5, 2, 3, 4, 1, 2, 3};
  EXPECT_EQ(Losses(Plain(1, 2, 2), text), (LossMap{{4, 2.0f}, {5, 1.0f}}));
}

TEST(DryTest, OnlyTheWindowCounts) {
  SamplingOptions options = Plain(1, 2, 2);
  const Ids text = {2, 3, 4, 9, 8, 2, 3};
  EXPECT_EQ(Losses(options, text), (LossMap{{4, 1.0f}}));
  options.dry_window = 6;
  EXPECT_EQ(Losses(options, text), LossMap{});
}

TEST(DryTest, HugeRepetitionsLoseSomethingFinite) {
  const LossMap losses = Losses(Plain(100, 10, 1), Ids(1000, 7));
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_TRUE(std::isfinite(losses.at(7)));
}

TEST(DryTest, RandomTextsFollowTheDefinition) {
  std::mt19937 random(31);
  for (int round = 0; round < 300; ++round) {
    Ids text(random() % 60);
    for (TokenId& id : text) id = static_cast<TokenId>(random() % 3);
    LossMap expected;
    for (std::size_t next = 1; next < text.size(); ++next) {
      std::size_t n = 0;  // tokens before `next` that are the same as at the end
      while (n < next && text[next - 1 - n] == text[text.size() - 1 - n]) ++n;
      if (n >= 3) {
        float& loss = expected[text[next]];
        loss = std::max(loss, 0.8f * std::pow(1.1f, static_cast<float>(n - 3)));
      }
    }
    const LossMap losses = Losses(Plain(0.8f, 1.1f, 3), text);
    ASSERT_EQ(losses.size(), expected.size()) << round;
    for (const auto& [id, loss] : expected) EXPECT_NEAR(losses.at(id), loss, 1e-4) << round;
  }
}

class BreakerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto tokenizer = tokenizers::Tokenizer::FromJson(
        R"({"model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0, "b": 1, "c": 2,
            "d": 3, ":": 4, "x: ": 5, "--": 6, "-": 7, ">": 8, "e": 9}}})");
    ASSERT_TRUE(tokenizer);
    tokenizer_ = *tokenizer;
  }
  LossMap After(const Ids& text, std::vector<std::string> breakers) const {
    SamplingOptions options = Plain(1, 2, 2);
    options.dry_sequence_breakers = std::move(breakers);
    return Losses(options, text, tokenizer_);
  }
  std::shared_ptr<const tokenizers::Tokenizer> tokenizer_;
};

TEST_F(BreakerTest, ARepetitionDoesNotReachOverABreaker) {
  // "b : c d e ... b : c d": four tokens repeat, two of them since the breaker.
  const Ids text = {1, 4, 2, 3, 9, 0, 1, 4, 2, 3};
  EXPECT_EQ(After(text, {}), (LossMap{{9, 4.0f}}));
  EXPECT_EQ(After(text, {":"}), (LossMap{{9, 1.0f}}));
  EXPECT_EQ(After({1, 4, 2, 9, 0, 1, 4, 2}, {":"}), LossMap{});
}

TEST_F(BreakerTest, ABreakerMayBePartOfATokenOrSpreadOverSeveral) {
  EXPECT_EQ(After({1, 5, 2, 3, 9, 0, 1, 5, 2, 3}, {":"}), (LossMap{{9, 1.0f}}));
  EXPECT_EQ(After({1, 6, 8, 2, 3, 9, 0, 1, 6, 8, 2, 3}, {"-->"}), (LossMap{{9, 1.0f}}));
  EXPECT_EQ(After({1, 6, 8, 2, 3, 9, 0, 1, 6, 8, 2, 3}, {"=>"}), (LossMap{{9, 8.0f}}));
  EXPECT_EQ(After({1, 7, 7, 8, 2, 3, 9, 0, 1, 7, 7, 8, 2, 3}, {"-->"}), (LossMap{{9, 1.0f}}));
}

TEST_F(BreakerTest, ATokenThatHoldsABreakerIsNeverPenalised) {
  EXPECT_EQ(After({1, 2, 3, 5, 0, 1, 2, 3}, {}), (LossMap{{5, 2.0f}}));
  EXPECT_EQ(After({1, 2, 3, 5, 0, 1, 2, 3}, {":"}), LossMap{});
}

}  // namespace
}  // namespace lattice::decoding
