// all-MiniLM-L6-v2, the real one, against float64 values of the reference.
#include <gtest/gtest.h>

#include <iostream>

#include "base/files.h"
#include "base/json.h"
#include "models/test_support.h"

namespace lattice::models {
namespace {

class MiniLmTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(LATTICE_TEST_MODELS).empty()) {
      GTEST_SKIP() << "SKIPPED: configure with -DLATTICE_TEST_MODELS=FOLDER that has "
                      "all-minilm-l6-v2";
    }
    const auto real = std::filesystem::path(LATTICE_FIXTURES) / "real";
    golden_.emplace(real / "minilm.safetensors");
    loaded_.emplace(std::filesystem::path(LATTICE_TEST_MODELS) / "all-minilm-l6-v2", 2);
    const auto json = ParseJson(ReadFile(real / "minilm.json", 1 << 22).value()).value();
    for (const JsonView& row : JsonView(json, "minilm.json: ").Get("rows")->Array().value()) {
      std::vector<TokenId> ids;
      for (const JsonView& id : row.Get("ids")->Array().value()) {
        ids.push_back(static_cast<TokenId>(id.Int(0, 30521).value()));
      }
      texts_.Add(ids);
    }
  }

  std::optional<Golden> golden_;
  std::optional<LoadedModel> loaded_;
  PackedTexts texts_;
};

TEST_F(MiniLmTest, HiddenStatesOfEveryLayerEqualTheReference) {
  for (std::size_t t = 0; t < 2; ++t) {
    const auto [begin, end] = texts_.sequences[t];
    PackedTexts text;
    text.Add(std::span(texts_.ids).subspan(begin, end - begin));
    const auto compare = [&](std::size_t layer, const kernels::Buffer& x) {
      const std::string name = "text" + std::to_string(t) + ".hidden." + std::to_string(layer);
      const double distance = Distance(loaded_->Read(x), golden_->Floats(name));
      std::cout << name << ": " << distance << "\n";
      EXPECT_LE(distance, 3e-6) << name;  // Seen: 1.2e-6.
    };
    const HiddenTap tap(compare);
    loaded_->model->Forward(text.batch(), loaded_->workspace, &tap);
  }
}

struct Closeness {
  double worst_difference = 0;  ///< Of any component, at unit length.
  double worst_cosine = 1;
};

/// Mean-pooled embeddings of all texts against [n_texts, hidden] unit vectors.
Closeness Compare(LoadedModel& loaded, const PackedTexts& texts, const std::vector<float>& want) {
  const auto states = loaded.Forward(texts.batch());
  const std::size_t hidden = loaded.model->info().hidden;
  Closeness result;
  for (std::size_t t = 0; t < texts.sequences.size(); ++t) {
    const auto [begin, end] = texts.sequences[t];
    std::vector<double> mean(hidden);
    double length = 0, dot = 0, want_length = 0;
    for (std::size_t c = 0; c < hidden; ++c) {
      for (std::size_t i = begin; i < end; ++i) {
        mean[c] += static_cast<double>(states[i * hidden + c]);
      }
      length += mean[c] * mean[c];
    }
    for (std::size_t c = 0; c < hidden; ++c) {
      const double got = mean[c] / std::sqrt(length);
      const auto reference = static_cast<double>(want[t * hidden + c]);
      result.worst_difference = std::max(result.worst_difference, std::abs(got - reference));
      dot += got * reference;
      want_length += reference * reference;
    }
    result.worst_cosine = std::min(result.worst_cosine, dot / std::sqrt(want_length));
  }
  std::cout << "largest difference " << result.worst_difference << ", 1 - cosine "
            << 1 - result.worst_cosine << "\n";
  return result;
}

TEST_F(MiniLmTest, EmbeddingsEqualTheReference) {
  ASSERT_EQ(texts_.sequences.size(), 60u);
  const Closeness close = Compare(*loaded_, texts_, golden_->Floats("embeddings"));
  EXPECT_LE(close.worst_difference, 2e-6);
  EXPECT_GE(close.worst_cosine, 0.9999995);
}

TEST_F(MiniLmTest, EightBitEmbeddingsStayClose) {
  LoadedModel narrow(std::filesystem::path(LATTICE_TEST_MODELS) / "all-minilm-l6-v2", 2,
                     kernels::Precision::kInt8);
  const Closeness close = Compare(narrow, texts_, golden_->Floats("embeddings"));
  EXPECT_GE(close.worst_cosine, 0.995);
}

}  // namespace
}  // namespace lattice::models
