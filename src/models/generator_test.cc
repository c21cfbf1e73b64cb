// Values of the reference implementation for tiny random generators (tests/fixtures).
#include <gtest/gtest.h>

#include <iostream>

#include "models/test_generator.h"

namespace lattice::models {
namespace {

struct Fixture {
  const char* name;
  /// Of hidden states and logits: |a - b| / (1 + |b|). Where it is wide the reference differs from
  /// its own float64 run by up to 2.6e-4.
  double tolerance;
};

constexpr Fixture kFixtures[] = {
    {"llama", 1e-4},           {"llama_linear", 1e-4},
    {"llama_yarn", 1e-4},      {"llama_dynamic", 1e-4},
    {"mistral", 1e-4},         {"mistral3", 1e-4},
    {"smollm3", 1e-4},         {"qwen2", 1e-4},
    {"qwen2_5", 1e-4},         {"qwen3", 1e-4},
    {"qwen3_moe", 1e-4},       {"gemma2", 1e-4},
    {"gemma3", 1e-4},          {"gemma4", 1e-3},
    {"gemma4_moe", 1e-3},      {"qwen3_5", 1e-3},
    {"qwen3_5_untied", 1e-3},  {"qwen3_5_moe", 1e-3},
    {"qwen3_5_vl_text", 1e-3}, {"qwen3_5_moe_vl_text", 1e-3},
};

class GeneratorTest : public testing::TestWithParam<Fixture> {
 protected:
  std::filesystem::path folder_ = std::filesystem::path(LATTICE_FIXTURES) / GetParam().name;
  Golden golden_{folder_ / "golden.safetensors"};
};

TEST_P(GeneratorTest, HiddenStatesLogitsAndLossesEqualTheReference) {
  Generator generator(folder_);
  const Ids ids = golden_.Ints("input_ids");
  double worst_hidden = 0;
  std::size_t n_layers = 0;
  const auto compare = [&](std::size_t layer, const kernels::Buffer& x) {
    std::vector<float> values(x.rows() * x.cols());
    generator.backend->Read(x, values);
    const std::string name = "hidden." + std::to_string(layer);
    const double distance = Distance(values, golden_.Floats(name));
    EXPECT_LE(distance, GetParam().tolerance) << name;
    worst_hidden = std::max(worst_hidden, distance);
    ++n_layers;
  };
  const HiddenTap tap(compare);
  const auto sequence = generator.store->New();
  const Generator::Piece piece{sequence.get(), ids};
  const auto logits = generator.Read({&piece, 1}, /*last_only=*/false, &tap);
  EXPECT_EQ(n_layers, generator.model->info().n_layers + 1);
  const double worst_logits = Distance(logits, golden_.Floats("logits"));
  const double worst_loss = Distance(NegativeLogProbabilities(logits, ids), golden_.Floats("nll"));
  std::cout << "hidden " << worst_hidden << ", logits " << worst_logits << ", losses " << worst_loss
            << "\n";
  EXPECT_LE(worst_logits, GetParam().tolerance);
  EXPECT_LE(worst_loss, GetParam().tolerance);
}

TEST_P(GeneratorTest, GreedyTokensEqualTheReference) {
  Generator generator(folder_);
  Ids prompt = golden_.Ints("input_ids");
  prompt.resize(37);
  EXPECT_EQ(Greedy(generator, prompt, 24), golden_.Ints("greedy_cached_from_37"));
}

TEST_P(GeneratorTest, HoweverThePromptIsCutTheBitsAreTheSame) {
  for (const auto kv_type : {kernels::KvType::kF32, kernels::KvType::kF16}) {
    Generator generator(folder_, {.kv_type = kv_type});
    const Ids ids = golden_.Ints("input_ids");
    const auto whole = generator.store->New();
    const auto want = generator.Read(*whole, ids);
    for (const std::size_t n : {1, 7, 32, 33, 64}) {
      const auto cut = generator.store->New();
      EXPECT_TRUE(SameBits(generator.ReadInPieces(*cut, ids, n), want)) << "pieces of " << n;
      EXPECT_EQ(cut->n_tokens(), ids.size());
    }
  }
}

TEST_P(GeneratorTest, WantedRowsAreThoseOfAFullPass) {
  Generator generator(folder_);
  const Ids ids = golden_.Ints("input_ids");
  const auto all = generator.store->New(), last = generator.store->New();
  const auto logits = generator.Read(*all, ids);
  const auto some = generator.Read(*last, ids, /*last_only=*/true);
  EXPECT_TRUE(SameBits(some, std::span(logits).last(some.size())));
}

TEST_P(GeneratorTest, TheDefaultPrecisionStaysNear) {
  Generator exact(folder_),
      stored(folder_, {.precision = std::nullopt, .kv_type = kernels::KvType::kF16});
  const Ids ids = golden_.Ints("input_ids");
  const auto a = exact.store->New(), b = stored.store->New();
  const auto want = NegativeLogProbabilities(exact.Read(*a, ids), ids);
  const auto got = NegativeLogProbabilities(stored.Read(*b, ids), ids);
  double mean_want = 0, mean_got = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    mean_want += static_cast<double>(want[i]) / static_cast<double>(want.size());
    mean_got += static_cast<double>(got[i]) / static_cast<double>(want.size());
  }
  std::cout << "mean loss " << mean_want << " in f32, " << mean_got << " as stored\n";
  EXPECT_NEAR(mean_got, mean_want, 0.02);
}

INSTANTIATE_TEST_SUITE_P(Tiny, GeneratorTest, testing::ValuesIn(kFixtures),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace lattice::models
