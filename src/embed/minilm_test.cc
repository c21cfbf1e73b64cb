// all-MiniLM-L6-v2 with its real weights, against float64 values of the reference implementation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "embed/embedding_model.h"
#include "embed/test_fakes.h"
#include "weights/checkpoint.h"

namespace lattice::embed {
namespace {

const std::filesystem::path kFolder =
    std::filesystem::path(LATTICE_TEST_MODELS) / "all-minilm-l6-v2";
const std::filesystem::path kReal = std::filesystem::path(LATTICE_FIXTURES) / "real";

class MiniLmTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string_view(LATTICE_TEST_MODELS).empty()) {
      GTEST_SKIP() << "SKIPPED: set LATTICE_TEST_MODELS to a folder with all-minilm-l6-v2";
    }
    const auto document = ParseJson(*ReadFile(kReal / "minilm.json", 4 << 20));
    const auto rows = JsonView(*document, "minilm.json").Find("rows")->Array();
    for (const JsonView& row : *rows) {
      texts_.emplace_back(*row.Find("text")->String());
      n_ids_.push_back(row.Find("ids")->Array()->size());
    }
    golden_ = *weights::Checkpoint::Open(kReal / "minilm.safetensors");
  }

  Result<std::shared_ptr<EmbeddingModel>> Load(TestEngine& engine,
                                               kernels::Precision precision) const {
    Engine options = engine.engine;
    options.precision = precision;
    return EmbeddingModel::Load({"all-minilm-l6-v2", kFolder, "", ""}, options);
  }

  std::vector<std::string> texts_;
  std::vector<std::size_t> n_ids_;
  std::shared_ptr<const weights::Checkpoint> golden_;
};

double Cosine(std::span<const float> a, std::span<const float> b) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i], y = b[i];
    ab += x * y, aa += x * x, bb += y * y;
  }
  return ab / std::sqrt(aa * bb);
}

TEST_F(MiniLmTest, InfoIsWhatTheFilesSay) {
  TestEngine engine(2);
  const auto model = Load(engine, kernels::Precision::kF32);
  ASSERT_TRUE(model) << model.error().message;
  const EmbeddingModelInfo& info = (*model)->info();
  EXPECT_EQ(info.architecture, "bert");
  EXPECT_EQ(info.dimensions, 384u);
  EXPECT_EQ(info.max_tokens, 256u);
  EXPECT_EQ(info.pooling, Pooling::kMean);
  EXPECT_TRUE(info.normalize);
  EXPECT_EQ(info.n_parameters, 22713216u);
}

TEST_F(MiniLmTest, VectorsEqualTheReferenceInF32) {
  TestEngine engine(2);
  const auto model = Load(engine, kernels::Precision::kF32);
  ASSERT_TRUE(model) << model.error().message;
  const auto result = (*model)->Embed(texts_, {});
  ASSERT_TRUE(result) << result.error().message;
  const auto want = *golden_->Find("embeddings")->ToF32();
  ASSERT_EQ(result->values.size(), want.size());
  double largest = 0, lowest = 1;
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    EXPECT_EQ(result->usage[i].n_tokens, n_ids_[i]) << texts_[i];
    const auto row = std::span(want).subspan(i * 384, 384);
    for (std::size_t c = 0; c < 384; ++c) {
      largest = std::max(largest, std::abs(static_cast<double>((*result)[i][c]) - row[c]));
    }
    lowest = std::min(lowest, Cosine((*result)[i], row));
  }
  std::cout << "largest difference " << largest << ", 1 - lowest cosine " << 1 - lowest << "\n";
  EXPECT_LE(largest, 2e-6);
  EXPECT_GE(lowest, 0.9999995);
  // The table of cosines between all texts.
  const auto cosines = *golden_->Find("cosine")->ToF32();
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    for (std::size_t j = 0; j < texts_.size(); ++j) {
      ASSERT_NEAR(Cosine((*result)[i], (*result)[j]), cosines[i * texts_.size() + j], 2e-6);
    }
  }
}

TEST_F(MiniLmTest, VectorsInInt8StayNear) {
  TestEngine engine(2);
  const auto model = Load(engine, kernels::Precision::kInt8);
  ASSERT_TRUE(model) << model.error().message;
  const auto result = (*model)->Embed(texts_, {});
  ASSERT_TRUE(result) << result.error().message;
  const auto want = *golden_->Find("embeddings")->ToF32();
  double lowest = 1, sum = 0;
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    const double cosine = Cosine((*result)[i], std::span(want).subspan(i * 384, 384));
    sum += cosine;
    lowest = std::min(lowest, cosine);
  }
  const double mean = sum / static_cast<double>(texts_.size());
  std::cout << "int8: mean cosine " << mean << ", lowest " << lowest << "\n";
  EXPECT_GE(mean, 0.999);
  EXPECT_GE(lowest, 0.997);  // Seen: 0.9981.
}

TEST_F(MiniLmTest, SameBitsAloneInABatchAndWithMoreThreads) {
  TestEngine one(1, 1), three(3);
  const auto alone = Load(one, kernels::Precision::kF32);
  const auto batched = Load(three, kernels::Precision::kF32);
  ASSERT_TRUE(alone);
  ASSERT_TRUE(batched);
  texts_.resize(20);
  std::vector<std::string> reversed(texts_.rbegin(), texts_.rend());
  const auto a = (*alone)->Embed(texts_, {});
  const auto b = (*batched)->Embed(reversed, {});
  ASSERT_TRUE(a);
  ASSERT_TRUE(b);
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    const auto row = (*b)[texts_.size() - 1 - i];
    EXPECT_TRUE(std::equal(row.begin(), row.end(), (*a)[i].begin())) << texts_[i];
  }
}

TEST_F(MiniLmTest, LongTextsAreCutAt256) {
  TestEngine engine(2);
  const auto model = Load(engine, kernels::Precision::kF32);
  ASSERT_TRUE(model);
  std::string words;
  while (words.size() < (1u << 20)) words += "word ";
  const std::vector<std::string> texts = {words, "short"};
  const auto result = (*model)->Embed(texts, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->usage[0].n_tokens, 256u);
  EXPECT_EQ(result->usage[0].n_tokens_untruncated, words.size() / 5 + 2);
  EXPECT_FALSE(result->usage[1].truncated());
}

}  // namespace
}  // namespace lattice::embed
