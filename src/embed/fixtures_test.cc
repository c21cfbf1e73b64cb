// Whole pipelines on tiny random models, against the reference implementation's values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/test_folder.h"
#include "embed/embedding_model.h"
#include "embed/test_fakes.h"
#include "weights/checkpoint.h"

namespace lattice::embed {
namespace {

// The fixture's texts were cut to this many tokens.
constexpr char kSettings[] = R"({"max_seq_length": 96})";

std::vector<std::string> FixtureTexts(const std::string& name) {
  const auto file = std::filesystem::path(LATTICE_FIXTURES) / name / "texts.json";
  const auto document = ParseJson(*ReadFile(file, 1 << 20));
  std::vector<std::string> texts;
  const auto items = JsonView(*document, "texts.json").Array();
  for (const JsonView& item : *items) {
    texts.emplace_back(*item.String());
  }
  return texts;
}

std::vector<float> Golden(const std::string& name, const char* tensor) {
  const auto file = std::filesystem::path(LATTICE_FIXTURES) / name / "golden.safetensors";
  const auto golden = weights::Checkpoint::Open(file);
  return *(*golden)->Find(tensor)->ToF32();
}

// A fixture as a model folder, with settings of its own.
struct FixtureModel {
  explicit FixtureModel(const std::string& name, std::size_t n_threads = 1,
                        std::size_t max_batch_tokens = 0)
      : engine(n_threads, max_batch_tokens) {
    folder.CopyFrom(std::filesystem::path(LATTICE_FIXTURES) / name);
    folder.Write("sentence_bert_config.json", kSettings);
    auto loaded = EmbeddingModel::Load({name, folder.path(), "", ""}, engine.engine);
    EXPECT_TRUE(loaded) << loaded.error().message;
    if (loaded) model = *loaded;
  }
  TestEngine engine;
  TestFolder folder;
  std::shared_ptr<EmbeddingModel> model;
};

double Distance(std::span<const float> a, std::span<const float> b) {
  double largest = a.size() == b.size() ? 0 : 1e9;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return largest;
}

class FixtureTest : public testing::TestWithParam<const char*> {};

TEST_P(FixtureTest, PooledVectorsEqualTheReference) {
  const FixtureModel fixture(GetParam());
  ASSERT_NE(fixture.model, nullptr);
  const auto texts = FixtureTexts(GetParam());
  const std::pair<Pooling, const char*> poolings[] = {{Pooling::kMean, "mean_pooled"},
                                                      {Pooling::kCls, "cls_pooled"},
                                                      {Pooling::kLast, "last_pooled"}};
  for (const auto& [pooling, tensor] : poolings) {
    EmbedRequest request;
    request.pooling = pooling;
    request.normalize = true;
    const auto result = fixture.model->Embed(texts, request);
    ASSERT_TRUE(result) << result.error().message;
    const double distance = Distance(result->values, Golden(GetParam(), tensor));
    std::cout << tensor << ": " << distance << "\n";
    EXPECT_LE(distance, 2e-6) << tensor;
    EXPECT_EQ(result->usage[1].n_tokens, 96u);
    EXPECT_TRUE(result->usage[1].truncated());
    EXPECT_FALSE(result->usage[0].truncated());
  }
}

TEST_P(FixtureTest, SettingsOfABareCheckpoint) {
  const FixtureModel fixture(GetParam());
  ASSERT_NE(fixture.model, nullptr);
  const EmbeddingModelInfo& info = fixture.model->info();
  EXPECT_FALSE(info.normalize);
  EXPECT_EQ(info.pooling, info.architecture == "qwen3" ? Pooling::kLast : Pooling::kMean);
  EXPECT_EQ(info.max_tokens, 96u);
  EXPECT_TRUE(info.revision.starts_with("files-")) << info.revision;
  EXPECT_GT(info.n_parameters, 10000u);
  EXPECT_EQ(info.dimensions, fixture.model->Embed(FixtureTexts(GetParam()), {})->dimensions);
}

// 500 texts of many lengths, some equal, some empty.
std::vector<std::string> ManyTexts() {
  std::mt19937 random(7);
  const std::string source =
      "The quick brown fox 東京タワー jumps over the lazy dog; naïve façade, 12345 [SEP] tokens. ";
  std::vector<std::string> texts;
  for (int i = 0; i < 500; ++i) {
    std::string text;
    for (auto n = random() % 4; n > 0; --n) text += source.substr(random() % 60, random() % 30);
    texts.push_back(i % 10 == 9 ? texts[random() % texts.size()] : text);
  }
  return texts;
}

TEST_P(FixtureTest, SameBitsInEveryBatchOrderAndNumberOfThreads) {
  const std::vector<std::string> texts = ManyTexts();
  const FixtureModel first(GetParam());
  ASSERT_NE(first.model, nullptr);
  const auto want = first.model->Embed(texts, {});
  ASSERT_TRUE(want) << want.error().message;
  for (std::size_t i = 0; i < texts.size(); i += 25) {
    const auto alone = first.model->Embed(std::span(&texts[i], 1), {});
    ASSERT_TRUE(std::equal(alone->values.begin(), alone->values.end(), (*want)[i].begin())) << i;
  }
  struct Run {
    std::size_t n_threads, max_batch_tokens, n_texts;
  };
  for (const Run& run : {Run{1, 1, 60}, Run{2, 40, 200}, Run{3, 333, 500}, Run{2, 100000, 500}}) {
    std::vector<std::size_t> order(texts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(run.n_texts)));
    order.resize(run.n_texts);
    std::vector<std::string> asked;
    for (const std::size_t i : order) asked.push_back(texts[i]);
    const FixtureModel fixture(GetParam(), run.n_threads, run.max_batch_tokens);
    const auto result = fixture.model->Embed(asked, {});
    ASSERT_TRUE(result) << result.error().message;
    for (std::size_t k = 0; k < order.size(); ++k) {
      const auto row = (*result)[k];
      ASSERT_TRUE(std::equal(row.begin(), row.end(), (*want)[order[k]].begin()))
          << "text " << order[k] << ", " << run.n_threads << " threads, budget "
          << run.max_batch_tokens;
    }
  }
}

TEST_P(FixtureTest, OddTextsGiveFiniteVectors) {
  const FixtureModel fixture(GetParam());
  ASSERT_NE(fixture.model, nullptr);
  const std::vector<std::string> texts = {"",
                                          " ",
                                          "\n\t",
                                          std::string(1 << 20, 'a'),
                                          std::string("\0x", 2),
                                          "\xFF\xFE",
                                          "😀👍🏽",
                                          std::string(1 << 16, ' ')};
  EmbedRequest request;
  request.normalize = true;
  const auto result = fixture.model->Embed(texts, request);
  ASSERT_TRUE(result) << result.error().message;
  for (const float value : result->values) ASSERT_TRUE(std::isfinite(value));
  for (const TextUsage& usage : result->usage) EXPECT_LE(usage.n_tokens, 96u);
  const TextUsage& longest = result->usage[3];
  EXPECT_GE(longest.n_tokens_untruncated, longest.n_tokens);
}

INSTANTIATE_TEST_SUITE_P(Tiny, FixtureTest,
                         testing::Values("bert", "xlm_roberta", "modernbert", "qwen3_embedding",
                                         "embeddinggemma"),
                         [](const auto& param) { return std::string(param.param); });

class RerankFixtureTest : public testing::TestWithParam<const char*> {};

TEST_P(RerankFixtureTest, PairScoresEqualTheReference) {
  const FixtureModel fixture(GetParam(), 2);
  ASSERT_NE(fixture.model, nullptr);
  const auto texts = FixtureTexts(GetParam());
  const auto want = Golden(GetParam(), "pair_logits");
  RerankRequest request;
  request.query = texts.back();  // The reference pairs the last text with each text.
  const auto scores = fixture.model->Rerank(texts, request);
  ASSERT_TRUE(scores) << scores.error().message;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_NEAR((*scores)[i].logit, want[i], 1e-5) << i;
    EXPECT_NEAR((*scores)[i].score, 1 / (1 + std::exp(-(*scores)[i].logit)), 1e-6);
  }
  EXPECT_TRUE((*scores)[1].usage.truncated());
  // A document's score does not depend on the others.
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto alone = fixture.model->Rerank(std::span(&texts[i], 1), request);
    EXPECT_EQ((*alone)[0].logit, (*scores)[i].logit);
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, RerankFixtureTest,
                         testing::Values("bert_reranker", "xlm_roberta_reranker"),
                         [](const auto& param) { return std::string(param.param); });

TEST(FixturesTest, XlmRobertaPositionsLimitTheLongestText) {
  // 130 positions, of which two lie before the first token.
  TestEngine engine;
  const auto loaded = EmbeddingModel::Load(
      {"x", std::filesystem::path(LATTICE_FIXTURES) / "xlm_roberta", "", ""}, engine.engine);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ((*loaded)->info().max_tokens, 128u);
  const std::vector<std::string> texts = {std::string(100000, 'x') + " y z"};
  const auto result = (*loaded)->Embed(texts, {});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->usage[0].n_tokens, 128u);
}

TEST(FixturesTest, ARevisionChangesWithTheFiles) {
  const FixtureModel fixture("bert");
  ASSERT_NE(fixture.model, nullptr);
  const auto revision_now = [&] {
    return (*EmbeddingModel::Load({"bert", fixture.folder.path(), "", ""}, fixture.engine.engine))
        ->info()
        .revision;
  };
  EXPECT_EQ(revision_now(), fixture.model->info().revision);
  fixture.folder.Write("sentence_bert_config.json", R"({"max_seq_length": 95})");
  EXPECT_NE(revision_now(), fixture.model->info().revision);
  const auto given =
      EmbeddingModel::Load({"bert", fixture.folder.path(), "a/bert", "abc"}, fixture.engine.engine);
  EXPECT_EQ((*given)->info().revision, "abc");
}

}  // namespace
}  // namespace lattice::embed
