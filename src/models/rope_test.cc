#include "models/rope.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "base/json.h"

namespace lattice::models {
namespace {

RopeTable Table(const char* config, const RopeKeys& keys = {}, std::size_t head_dim = 8,
                std::size_t max_positions = 4096) {
  const auto json = ParseJson(config).value();
  return ReadRope(JsonView(json, "config.json: "), keys, head_dim, max_positions).value();
}

std::string Complaint(const char* config, const RopeKeys& keys = {}) {
  const auto json = ParseJson(config).value();
  auto table = ReadRope(JsonView(json, "config.json: "), keys, 8, 4096);
  return table ? "accepted" : table.error().message;
}

void ExpectFrequencies(const RopeTable& table, const std::vector<double>& want) {
  ASSERT_EQ(table.inv_freq.size(), want.size());
  for (std::size_t j = 0; j < want.size(); ++j) {
    EXPECT_FLOAT_EQ(table.inv_freq[j], static_cast<float>(want[j])) << j;
  }
}

const std::vector<double> kBase = {1.0, 0.1, 0.01, 0.001};  // theta 10000, head_dim 8

TEST(RopeTest, OldAndNewSpellingsAgree) {
  ExpectFrequencies(Table("{}"), kBase);
  ExpectFrequencies(Table(R"({"rope_theta": 10000.0, "rope_scaling": null})"), kBase);
  ExpectFrequencies(Table(R"({"rope_parameters": {"rope_theta": 1e4, "rope_type": "default"}})"),
                    kBase);
  ExpectFrequencies(Table(R"({"rope_theta": 1e4, "rope_parameters": {"rope_theta": 1e4}})"), kBase);
  EXPECT_EQ(Table("{}").scale, 1.0f);
}

TEST(RopeTest, NestedParametersAreReadForTheirLayerType) {
  const char* config = R"({"rope_parameters": {
      "full_attention": {"rope_theta": 1e8, "rope_type": "linear", "factor": 2},
      "sliding_attention": {"rope_theta": 1e4}}})";
  ExpectFrequencies(Table(config, {.layer_type = "full_attention"}), {0.5, 0.005, 0.5e-4, 0.5e-6});
  ExpectFrequencies(Table(config, {.layer_type = "sliding_attention"}), kBase);
}

TEST(RopeTest, OlderScalingAppliesToFullLayersOnly) {
  const char* config = R"({"rope_theta": 1e8, "rope_local_base_freq": 1e4,
                           "rope_scaling": {"type": "linear", "factor": 8.0}})";
  const RopeKeys sliding{
      .layer_type = "sliding_attention", .theta_key = "rope_local_base_freq", .scaled = false};
  ExpectFrequencies(Table(config, {.layer_type = "full_attention"}),
                    {0.125, 0.125e-2, 0.125e-4, 0.125e-6});
  ExpectFrequencies(Table(config, sliding), kBase);
}

TEST(RopeTest, Llama3KeepsShortAndStretchesLongWavelengths) {
  // Turns within 640 tokens: 101.9, 10.19, 1.019, 0.1019; kept above 20, stretched below 1.
  const RopeTable table = Table(R"({"rope_theta": 1e4, "rope_scaling": {"rope_type": "llama3",
      "factor": 8, "low_freq_factor": 1, "high_freq_factor": 20,
      "original_max_position_embeddings": 640}})");
  const auto blend = [](double inv) {
    const double turns = 640 * inv / (2 * std::numbers::pi);
    const double s = (turns - 1) / 19;
    return (1 - s) * inv / 8 + s * inv;
  };
  ExpectFrequencies(table, {1.0, blend(0.1), blend(0.01), 0.001 / 8});
}

TEST(RopeTest, YarnBlendsBetweenTheTwoCornersAndScales) {
  // pair_that_turns(32) = 8 ln(4096 / 64 pi) / (2 ln 1e4) = 1.309 -> 1, (1): 2.814 -> 3.
  const RopeTable table = Table(R"({"rope_theta": 1e4, "rope_scaling": {"rope_type": "yarn",
      "factor": 4, "original_max_position_embeddings": 4096}})");
  ExpectFrequencies(table, {1.0, 0.1, 0.01 * (0.5 + 0.5 / 4), 0.001 / 4});
  EXPECT_FLOAT_EQ(table.scale, static_cast<float>(0.1 * std::log(4.0) + 1.0));
}

TEST(RopeTest, YarnTakesItsFactorFromTheTwoLengths) {
  const RopeTable table = Table(R"({"rope_scaling": {"rope_type": "yarn", "factor": null,
      "truncate": false, "attention_factor": 1.5, "original_max_position_embeddings": 1024}})");
  const auto corner = [](double turns) {
    return 8 * std::log(1024 / (turns * 2 * std::numbers::pi)) / (2 * std::log(1e4));
  };
  std::vector<double> want;
  for (std::size_t j = 0; j < 4; ++j) {
    const double ramp =
        std::clamp((static_cast<double>(j) - corner(32)) / (corner(1) - corner(32)), 0.0, 1.0);
    want.push_back(kBase[j] * ((1 - ramp) + ramp / 4));  // 4096 / 1024
  }
  ExpectFrequencies(table, want);
  EXPECT_FLOAT_EQ(table.scale, 1.5f);
  const RopeTable ratio = Table(R"({"rope_scaling": {"rope_type": "yarn", "factor": 4,
      "mscale": 2, "mscale_all_dim": 1}})");
  EXPECT_FLOAT_EQ(ratio.scale,
                  static_cast<float>((0.2 * std::log(4.0) + 1) / (0.1 * std::log(4.0) + 1)));
}

TEST(RopeTest, APartOfAHeadTurns) {
  for (const char* config : {R"({"partial_rotary_factor": 0.5})",
                             R"({"rope_parameters": {"partial_rotary_factor": 0.5}})"}) {
    ExpectFrequencies(Table(config), {1.0, 0.01});  // 1e4^(-2j / 4)
  }
  ExpectFrequencies(Table("{}", {.default_partial = 0.25}), {1.0});
}

TEST(RopeTest, ProportionalTurnsTheFirstPairsOfTheWholeHead) {
  ExpectFrequencies(Table(R"({"rope_parameters": {"rope_type": "proportional",
      "partial_rotary_factor": 0.5}})"),
                    {kBase[0], kBase[1], 0, 0});
  ExpectFrequencies(Table(R"({"rope_parameters": {"rope_type": "proportional", "factor": 2,
      "partial_rotary_factor": 0.25}})"),
                    {kBase[0] / 2, 0, 0, 0});
}

TEST(RopeTest, DynamicIsPlainUpToTheModelsLength) {
  const RopeTable table = Table(R"({"rope_scaling": {"rope_type": "dynamic", "factor": 2}})");
  ExpectFrequencies(table, {kBase[0], kBase[1], kBase[2], kBase[3]});
  EXPECT_EQ(table.max_positions, 4096u);
}

TEST(RopeTest, LongRopeDividesAndEndsAtTheFirstLength) {
  const RopeTable table = Table(R"({"rope_scaling": {"type": "longrope",
      "short_factor": [1, 2, 4, 5], "long_factor": [9, 9, 9, 9],
      "original_max_position_embeddings": 1024}})");
  ExpectFrequencies(table, {kBase[0], kBase[1] / 2, kBase[2] / 4, kBase[3] / 5});
  EXPECT_EQ(table.max_positions, 1024u);
  EXPECT_FLOAT_EQ(table.scale, static_cast<float>(std::sqrt(1 + std::log(4.0) / std::log(1024.0))));
}

TEST(RopeTest, WrongParametersAreRefusedByName) {
  const struct {
    const char* config;
    const char* message;
  } cases[] = {
      {R"({"rope_scaling": {"rope_type": "su", "factor": 2}})", "'su'; known: default"},
      {R"({"rope_scaling": {"type": "longrope"}})", "missing 'short_factor'"},
      {R"({"rope_scaling": {"type": "longrope", "short_factor": [1, 2]}})",
       "short_factor: expected 4 numbers, found 2"},
      {R"({"rope_scaling": {"type": "longrope", "short_factor": [1, 2, 0, 1]}})",
       "short_factor[2]: expected a number above 0"},
      {R"({"rope_scaling": {"type": 3}})", "rope_scaling.type: expected a string"},
      {R"({"rope_scaling": 4})", "rope_scaling: expected an object"},
      {R"({"rope_scaling": {"type": "linear"}})", "missing 'factor'"},
      {R"({"rope_scaling": {"type": "linear", "factor": 0}})", "rope_scaling.factor: 0"},
      {R"({"rope_scaling": {"type": "linear", "factor": -2}})", "rope_scaling.factor: -2"},
      {R"({"rope_theta": 1e300})", "rope_theta: 1"},
      {R"({"rope_theta": "big"})", "rope_theta: expected a number"},
      {R"({"rope_theta": 1e6, "rope_parameters": {"rope_theta": 1e4}})", "contradicts rope_theta"},
      {R"({"rope_scaling": {"type": "default", "partial_rotary_factor": 0.1}})", "turns 0 values"},
      {R"({"rope_scaling": {"type": "default", "partial_rotary_factor": 0.7}})", "turns 5 values"},
      {R"({"partial_rotary_factor": 1.5})", "partial_rotary_factor: 1.5"},
      {R"({"partial_rotary_factor": 0.5, "rope_parameters": {"partial_rotary_factor": 0.25}})",
       "contradicts"},
      {R"({"rope_scaling": {"type": "llama3", "factor": 8, "low_freq_factor": 4,
           "high_freq_factor": 4, "original_max_position_embeddings": 64}})",
       "above low_freq"},
      {R"({"rope_theta": 1, "rope_scaling": {"type": "yarn", "factor": 2}})", "above 1"},
  };
  for (const auto& c : cases) {
    EXPECT_NE(Complaint(c.config).find(c.message), std::string::npos)
        << c.config << ": " << Complaint(c.config);
  }
  EXPECT_NE(Complaint("{}", {.theta_key = "local_rope_theta", .default_theta = 0})
                .find("missing 'local_rope_theta'"),
            std::string::npos);
}

}  // namespace
}  // namespace lattice::models
