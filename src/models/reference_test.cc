// Values of the reference implementation for tiny random models of every family (tests/fixtures).
#include <gtest/gtest.h>

#include <iostream>

#include "models/test_support.h"

namespace lattice::models {
namespace {

// What comes out of a final norm or a head. Seen: at most 7e-6 (each test prints its own); the
// reference itself is 1.1e-5 from its own float64 run.
constexpr double kTolerance = 1e-5;
// The residual stream between layers, which no norm has brought to unit size. Seen: at most 1.2e-5.
constexpr double kStreamTolerance = 2e-5;

void ExpectNear(std::span<const float> got, std::span<const float> want, const std::string& what,
                double tolerance = kTolerance) {
  const double distance = Distance(got, want);
  std::cout << what << ": " << distance << "\n";
  EXPECT_LE(distance, tolerance) << what;
}

std::vector<float> Normalised(std::vector<float> row) {
  double sum = 0;
  for (const float v : row) sum += static_cast<double>(v) * static_cast<double>(v);
  for (float& v : row) v = static_cast<float>(static_cast<double>(v) / std::sqrt(sum));
  return row;
}

class EncoderTest : public testing::TestWithParam<const char*> {
 protected:
  EncoderTest()
      : folder_(std::filesystem::path(LATTICE_FIXTURES) / GetParam()),
        golden_(folder_ / "golden.safetensors"),
        loaded_(folder_),
        texts_(GoldenTexts(golden_)) {}

  std::filesystem::path folder_;
  Golden golden_;
  LoadedModel loaded_;
  PackedTexts texts_;
};

TEST_P(EncoderTest, HiddenStatesEqualTheReference) {
  const auto padded = golden_.Floats("last_hidden_state");
  const auto shape = golden_.Shape("last_hidden_state");
  const auto mask = golden_.Ints("attention_mask");
  std::vector<float> want;
  for (std::size_t row = 0; row < mask.size(); ++row) {
    if (mask[row] == 0) continue;
    want.insert(want.end(), padded.begin() + static_cast<std::ptrdiff_t>(row * shape[2]),
                padded.begin() + static_cast<std::ptrdiff_t>((row + 1) * shape[2]));
  }
  ExpectNear(loaded_.Forward(texts_.batch()), want, "hidden");
}

TEST_P(EncoderTest, PooledRowsEqualTheReference) {
  const std::size_t hidden = loaded_.model->info().hidden;
  const auto all = loaded_.Forward(texts_.batch());
  std::vector<float> cls, last, mean;
  const auto append = [](std::vector<float>& to, const std::vector<float>& row) {
    const auto unit = Normalised(row);
    to.insert(to.end(), unit.begin(), unit.end());
  };
  for (const auto [begin, end] : texts_.sequences) {
    const auto row = [&](std::size_t i) {
      return std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(i * hidden),
                                all.begin() + static_cast<std::ptrdiff_t>((i + 1) * hidden));
    };
    std::vector<float> sum(hidden);
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t c = 0; c < hidden; ++c) sum[c] += all[i * hidden + c];
    }
    append(cls, row(begin));
    append(last, row(end - 1));
    append(mean, sum);
  }
  ExpectNear(cls, golden_.Floats("cls_pooled"), "cls");
  ExpectNear(last, golden_.Floats("last_pooled"), "last");
  ExpectNear(mean, golden_.Floats("mean_pooled"), "mean");
}

TEST_P(EncoderTest, WantedRowsAreThoseOfAFullPass) {
  const std::size_t hidden = loaded_.model->info().hidden;
  const auto all = loaded_.Forward(texts_.batch());
  PackedTexts some = texts_;
  for (std::uint32_t row = 1; row < some.ids.size(); row += row % 7 + 1) {
    some.outputs.push_back(row);
  }
  std::vector<float> want;
  for (const std::uint32_t row : some.outputs) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(row * hidden);
    want.insert(want.end(), begin, begin + static_cast<std::ptrdiff_t>(hidden));
  }
  EXPECT_EQ(loaded_.Forward(some.batch()), want);
  std::size_t n_taps = 0;
  const auto count = [&](std::size_t layer, const kernels::Buffer& x) {
    EXPECT_EQ(layer, n_taps++);
    EXPECT_EQ(x.rows(), some.ids.size());
  };
  const HiddenTap tap(count);
  EXPECT_EQ(loaded_.Read(loaded_.model->Forward(some.batch(), loaded_.workspace, &tap)), want);
  EXPECT_EQ(n_taps, loaded_.model->info().n_layers + 1);
}

INSTANTIATE_TEST_SUITE_P(Tiny, EncoderTest,
                         testing::Values("bert", "xlm_roberta", "modernbert", "qwen3_embedding",
                                         "embeddinggemma"),
                         [](const auto& param) { return std::string(param.param); });

class RerankerTest : public testing::TestWithParam<const char*> {};

TEST_P(RerankerTest, ScoresEqualTheReference) {
  const auto folder = std::filesystem::path(LATTICE_FIXTURES) / GetParam();
  const Golden golden(folder / "golden.safetensors");
  LoadedModel loaded(folder);
  ASSERT_EQ(loaded.model->info().n_labels, 1u);
  ExpectNear(loaded.Classify(GoldenTexts(golden).batch()), golden.Floats("logits"), "logits");
  ExpectNear(loaded.Classify(GoldenTexts(golden, "pair_").batch()), golden.Floats("pair_logits"),
             "pair_logits");
}

INSTANTIATE_TEST_SUITE_P(Tiny, RerankerTest,
                         testing::Values("bert_reranker", "xlm_roberta_reranker"),
                         [](const auto& param) { return std::string(param.param); });

/// Generators that read a whole text at once, as rerankers do with two entries of the vocabulary.
class WholeTextTest : public testing::TestWithParam<const char*> {};

TEST_P(WholeTextTest, HiddenStatesAndLogitsEqualTheReference) {
  const auto folder = std::filesystem::path(LATTICE_FIXTURES) / GetParam();
  const Golden golden(folder / "golden.safetensors");
  LoadedModel loaded(folder);
  PackedTexts text;
  text.Add(golden.Ints("input_ids"));
  const auto compare = [&](std::size_t layer, const kernels::Buffer& x) {
    const std::string name = "hidden." + std::to_string(layer);
    ExpectNear(loaded.Read(x), golden.Floats(name), name, kStreamTolerance);
  };
  const HiddenTap tap(compare);
  const auto& hidden = loaded.model->Forward(text.batch(), loaded.workspace, &tap);
  ASSERT_TRUE(loaded.model->info().has_lm_head);
  const auto logits = loaded.Read(loaded.model->Logits(hidden, {}, loaded.workspace));
  ExpectNear(logits, golden.Floats("logits"), "logits");

  // Two entries of the vocabulary, as a reranker asks for: the same bits as in the whole row.
  const TokenId ids[] = {700, 3};
  const auto two = loaded.Read(loaded.model->Logits(hidden, ids, loaded.workspace));
  const std::size_t vocab = loaded.model->info().vocab;
  for (std::size_t row = 0; row < text.ids.size(); ++row) {
    EXPECT_EQ(two[row * 2], logits[row * vocab + 700]);
    EXPECT_EQ(two[row * 2 + 1], logits[row * vocab + 3]);
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, WholeTextTest, testing::Values("llama", "qwen2", "qwen3", "gemma3"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace lattice::models
