#include "decoding/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "decoding/log_probabilities.h"
#include "decoding/test_rows.h"

namespace lattice::decoding {
namespace {

Sampler Make(const SamplingOptions& options, std::size_t vocab) {
  auto sampler = Sampler::Create(options, vocab);
  LATTICE_CHECK(sampler.has_value());
  return *std::move(sampler);
}

std::vector<TokenId> Draw(Sampler& sampler, const std::vector<float>& row, std::size_t n) {
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < n; ++i) {
    const auto id = sampler.Sample(row);
    LATTICE_CHECK(id.has_value());
    ids.push_back(*id);
  }
  return ids;
}

// Pearson's statistic of draws against probabilities; every token of probability 0 must not occur.
double ChiSquare(const std::vector<TokenId>& draws, const std::vector<double>& probabilities) {
  std::vector<double> seen(probabilities.size());
  for (const TokenId id : draws) ++seen[static_cast<std::size_t>(id)];
  double sum = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const double expected = probabilities[i] * static_cast<double>(draws.size());
    if (expected == 0) {
      EXPECT_EQ(seen[i], 0) << "token " << i;
      continue;
    }
    sum += (seen[i] - expected) * (seen[i] - expected) / expected;
  }
  return sum;
}

TEST(PhiloxTest, EqualsThePublishedAnswers) {
  using Block = std::array<std::uint32_t, 4>;
  EXPECT_EQ(Philox(0).Bits(0, 0), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox(UINT64_MAX).Bits(UINT64_MAX, UINT64_MAX),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox(0x299f31d0a4093822).Bits(0x85a308d3243f6a88, 0x0370734413198a2e),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(SamplerTest, TheDefaultsDrawFromTheModelsDistribution) {
  const std::vector<double> p = {0.05, 0.4, 0.15, 0.3, 0.1};
  Sampler sampler = Make({.seed = 7}, p.size());
  // 4 degrees of freedom: above 18.5 once in a thousand seeds.
  EXPECT_LT(ChiSquare(Draw(sampler, LogitsOf(p), 100000), p), 18.5);
}

TEST(SamplerTest, ALargeRowIsDrawnFromToo) {
  const std::vector<float> row = RandomRow(3, 500, 1.0f);
  Sampler sampler = Make({.seed = 8}, row.size());
  // 499 degrees of freedom: mean 499, deviation 31.6.
  EXPECT_LT(ChiSquare(Draw(sampler, row, 200000), Softmax(row)), 499 + 3.5 * 31.6);
}

TEST(SamplerTest, FiltersAndTemperatureFollowTheirOrder) {
  const std::vector<double> p = {0.05, 0.4, 0.15, 0.3, 0.1};
  // top_p 0.6 leaves 0.4 and 0.3; then the temperature takes their square root.
  const double a = std::sqrt(0.4), b = std::sqrt(0.3);
  SamplingOptions options{.temperature = 2.0f, .top_k = 4, .top_p = 0.6f, .seed = 9};
  Sampler sampler = Make(options, p.size());
  const std::vector<double> expected = {0, a / (a + b), 0, b / (a + b), 0};
  EXPECT_LT(ChiSquare(Draw(sampler, LogitsOf(p), 100000), expected), 10.8);

  // Temperature first flattens the row, so that a third token is needed for 0.6.
  options.order = {SamplingStep::kTemperature, SamplingStep::kTopP};
  Sampler flat = Make(options, p.size());
  const double c = std::sqrt(0.15), sum = a + b + c;
  const std::vector<double> flat_expected = {0, a / sum, c / sum, b / sum, 0};
  EXPECT_LT(ChiSquare(Draw(flat, LogitsOf(p), 100000), flat_expected), 13.8);
}

TEST(SamplerTest, XtcActsWithItsProbability) {
  const std::vector<double> p = {0.5, 0.3, 0.15, 0.05};
  Sampler sampler = Make({.xtc_probability = 0.25f, .xtc_threshold = 0.1f, .seed = 4}, p.size());
  // Acting, it leaves 0.15 and 0.05: three quarters and one quarter.
  const std::vector<double> expected = {0.75 * 0.5, 0.75 * 0.3, 0.75 * 0.15 + 0.25 * 0.75,
                                        0.75 * 0.05 + 0.25 * 0.25};
  EXPECT_LT(ChiSquare(Draw(sampler, LogitsOf(p), 100000), expected), 16.3);
}

TEST(SamplerTest, MirostatFollowsItsAlgorithmAndHoldsTheSurprise) {
  const std::vector<float> row = RandomRow(5, 2000, 2.0f);
  const std::vector<double> p = Softmax(row);
  const double best = *std::ranges::max_element(p);
  for (const float tau : {2.0f, 4.0f, 6.0f}) {
    Sampler sampler = Make({.mirostat_tau = tau, .mirostat_eta = 0.1f, .seed = 6}, row.size());
    double mu = 2 * static_cast<double>(tau), total = 0;
    const std::size_t n = 2000;
    for (const TokenId id : Draw(sampler, row, n)) {
      double mass = 0;  // of the tokens that mu lets through
      for (const double x : p) mass += x == best || -std::log2(x) <= mu ? x : 0;
      const double chosen = p[static_cast<std::size_t>(id)];
      ASSERT_TRUE(chosen == best || -std::log2(chosen) <= mu + 1e-4);
      const double surprise = -std::log2(chosen / mass);
      mu -= 0.1 * (surprise - static_cast<double>(tau));
      total += surprise;
    }
    EXPECT_NEAR(total / n, static_cast<double>(tau), 0.05);
  }
}

TEST(SamplerTest, SameSeedSameTokensWhateverRunsBeside) {
  const std::vector<float> row = RandomRow(11, 300);
  const SamplingOptions options{.temperature = 0.8f, .top_p = 0.9f, .seed = 42};
  Sampler alone = Make(options, row.size());
  const auto expected = Draw(alone, row, 50);
  Sampler again = Make(options, row.size()), other = Make({.seed = 43}, row.size());
  std::vector<TokenId> ids, others;
  for (int i = 0; i < 50; ++i) {
    others.push_back(Draw(other, row, 1)[0]);
    ids.push_back(Draw(again, row, 1)[0]);
  }
  EXPECT_EQ(ids, expected);
  EXPECT_NE(others, expected);
}

TEST(SamplerTest, TemperatureZeroTakesTheBestAndTheLowestOfEquals) {
  const std::vector<float> row = {0, 5, 5, 1};
  // The other filters have no say: this one would remove the best.
  Sampler sampler = Make({.temperature = 0, .xtc_probability = 1, .xtc_threshold = 0}, row.size());
  EXPECT_EQ(Draw(sampler, row, 3), (std::vector<TokenId>{1, 1, 1}));
}

TEST(SamplerTest, BiasAndBansComeFirst) {
  const std::vector<float> row = {0, 5, 4, 1};
  Sampler biased = Make({.temperature = 0, .logit_bias = {{3, 2.5f}, {3, 2.0f}}}, row.size());
  EXPECT_EQ(Draw(biased, row, 1)[0], 3);
  Sampler banned = Make({.temperature = 0, .banned = {1, 2}}, row.size());
  EXPECT_EQ(Draw(banned, row, 1)[0], 3);
  Sampler none = Make({.banned = {0, 1, 2, 3}}, row.size());
  const auto id = none.Sample(row);
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().code, ErrorCode::kInvalidArgument);
}

TEST(SamplerTest, PenaltiesFollowTheirFormula) {
  // Window of 4: after the prompt each of its tokens counts, 1 twice.
  const std::vector<float> row = {2, 3, -1, 2.1f};
  SamplingOptions options{.temperature = 0,
                          .repetition_penalty = 1.2f,
                          .presence_penalty = 0.1f,
                          .frequency_penalty = 0.15f,
                          .penalty_window = 4};
  // Token 1: 3 / 1.2 - 0.1 - 2 * 0.15 = 2.1. The tie with token 3 goes to the lower id.
  Sampler sampler = Make(options, row.size());
  const TokenId prompt[] = {0, 2, 1, 1};
  sampler.AcceptPrompt(prompt);
  EXPECT_EQ(Draw(sampler, {2, 3.001f, -1, 2.1f}, 1)[0], 1);
  EXPECT_EQ(Draw(sampler, {2, 2.999f, -1, 2.1f}, 1)[0], 3);
  // Token 2 is negative: -1 * 1.2 - 0.25 = -1.45.
  EXPECT_EQ(Draw(sampler, {-9, -9, -1.0f, -1.46f}, 1)[0], 2);
  EXPECT_EQ(Draw(sampler, {-9, -9, -1.0f, -1.44f}, 1)[0], 3);
  // Two more tokens push 0 and 2 out of the window.
  ASSERT_TRUE(sampler.Accept(3));
  ASSERT_TRUE(sampler.Accept(3));
  EXPECT_EQ(Draw(sampler, {-9, -9, -1.0f, -1.0f}, 1)[0], 2);
}

class OddTokensOnly final : public LogitMask {
 public:
  Status Fill(std::span<std::uint64_t> allowed) override {
    for (std::uint64_t& word : allowed) word &= 0xAAAAAAAAAAAAAAAA;
    return Ok();
  }
  Status Accept(TokenId id) override {
    accepted.push_back(id);
    return Ok();
  }
  std::vector<TokenId> accepted;
};

TEST(SamplerTest, AMaskDecidesWhatMayCome) {
  const std::vector<float> row = RandomRow(2, 100);
  OddTokensOnly mask;
  Sampler sampler = Make({.seed = 1}, row.size());
  sampler.SetMask(&mask);
  for (const TokenId id : Draw(sampler, row, 200)) EXPECT_EQ(id % 2, 1);
  ASSERT_TRUE(sampler.Accept(7));
  EXPECT_EQ(mask.accepted, std::vector<TokenId>{7});
  EXPECT_FALSE(sampler.Accept(100));
}

TEST(SamplerTest, BadLogitsAreAnError) {
  Sampler sampler = Make({}, 3);
  EXPECT_FALSE(sampler.Sample(std::vector<float>{1, NAN, 2}));
  EXPECT_FALSE(sampler.Sample(std::vector<float>{1, 2, INFINITY}));
  EXPECT_FALSE(sampler.Sample(std::vector<float>{1, 2}));
  EXPECT_TRUE(sampler.Sample(std::vector<float>{3e38f, -3e38f, 0}));
}

TEST(SamplingOptionsTest, ErrorsNameTheFieldAndItsRange) {
  const auto message = [](const SamplingOptions& options) {
    const auto sampler = Sampler::Create(options, 10);
    return sampler ? std::string("accepted") : sampler.error().message;
  };
  EXPECT_EQ(message({.temperature = -1}), "temperature: -1 is not in 0 to 100");
  EXPECT_EQ(message({.temperature = NAN}), "temperature: nan is not in 0 to 100");
  EXPECT_EQ(message({.top_p = 0}), "top_p: 0 is not above 0 to 1");
  EXPECT_EQ(message({.min_p = 1.5f}), "min_p: 1.5 is not in 0 to 1");
  EXPECT_EQ(message({.repetition_penalty = 0}), "repetition_penalty: 0 is not in 0.01 to 100");
  EXPECT_EQ(message({.penalty_window = 70000}), "penalty_window: 70000 is not in 0 to 65536");
  EXPECT_EQ(message({.top_k = 5, .mirostat_tau = 5}),
            "mirostat_tau: mirostat takes the place of top_k, which must be off");
  EXPECT_EQ(message({.logit_bias = {{10, 1}}}),
            "logit_bias: token id 10 is outside the vocabulary of 10");
  EXPECT_EQ(message({.logit_bias = {{1, 101}}}), "logit_bias: 101 is not in -100 to 100");
  EXPECT_EQ(message({.banned = {-1}}), "banned: token id -1 is outside the vocabulary of 10");
  EXPECT_EQ(message({.order = {SamplingStep::kTopK, SamplingStep::kTopK}}),
            "order: 'top_k' stands twice");
  EXPECT_EQ(message({.dry_multiplier = 1}),
            "dry_sequence_breakers: they need a tokenizer, and there is none");
  EXPECT_EQ(message({.dry_multiplier = 1, .dry_sequence_breakers = {}}), "accepted");
}

TEST(LogProbabilitiesTest, AreTheLogSoftmaxOfTheRawRow) {
  const std::vector<float> row = RandomRow(13, 1000);
  const std::vector<double> p = Softmax(row);
  LogProbabilities read;
  LogProbabilityReader reader;
  ASSERT_TRUE(reader.Read(row, 17, 5, read));
  EXPECT_EQ(read.chosen.id, 17);
  EXPECT_NEAR(read.chosen.log_probability, std::log(p[17]), 1e-5);
  ASSERT_EQ(read.top.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(read.top[i].log_probability, std::log(p[static_cast<std::size_t>(read.top[i].id)]),
                1e-5);
    if (i > 0) {
      EXPECT_GE(read.top[i - 1].log_probability, read.top[i].log_probability);
    }
  }
  ASSERT_TRUE(reader.Read(std::vector<float>{1, 2}, 0, 9, read));
  EXPECT_EQ(read.top.size(), 2u);
  EXPECT_FALSE(reader.Read(row, 1000, 0, read));
}

}  // namespace
}  // namespace lattice::decoding
