// A row has the same bits whatever surrounds it.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "models/test_support.h"

namespace lattice::models {
namespace {

using Texts = std::vector<std::vector<TokenId>>;

Texts RandomTexts(std::size_t vocab, unsigned seed) {
  std::mt19937 rng(seed);
  Texts texts;
  for (const std::size_t n : {1u, 2u, 3u, 17u, 33u, 64u, 65u, 5u, 90u, 1u, 31u, 8u}) {
    std::vector<TokenId> text(n);
    for (TokenId& id : text) id = static_cast<TokenId>(rng() % vocab);
    texts.push_back(std::move(text));
  }
  return texts;
}

/// Hidden states of each text, when the texts are packed in the given order.
std::vector<std::vector<float>> RunPacked(LoadedModel& loaded, const Texts& texts,
                                          const std::vector<std::size_t>& order) {
  PackedTexts packed;
  for (const std::size_t i : order) packed.Add(texts[i]);
  const auto values = loaded.Forward(packed.batch());
  const std::size_t hidden = loaded.model->info().hidden;
  std::vector<std::vector<float>> rows(texts.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto [begin, end] = packed.sequences[i];
    rows[order[i]].assign(values.begin() + static_cast<std::ptrdiff_t>(begin * hidden),
                          values.begin() + static_cast<std::ptrdiff_t>(end * hidden));
  }
  return rows;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class SameBitsTest : public testing::TestWithParam<const char*> {
 protected:
  std::filesystem::path folder_ = std::filesystem::path(LATTICE_FIXTURES) / GetParam();
};

TEST_P(SameBitsTest, WhateverTheBatchItsOrderAndTheThreads) {
  LoadedModel one(folder_, 1);
  const Texts texts = RandomTexts(one.model->info().vocab, 20);
  std::vector<std::size_t> order(texts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto want = RunPacked(one, texts, order);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    ASSERT_TRUE(SameBits(RunPacked(one, texts, {i})[i], want[i])) << "alone: text " << i;
  }
  std::shuffle(order.begin(), order.end(), std::mt19937(21));
  for (const std::size_t n_threads : {1u, 2u, 3u}) {
    LoadedModel many(folder_, n_threads);
    const auto got = RunPacked(many, texts, order);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      ASSERT_TRUE(SameBits(got[i], want[i])) << n_threads << " threads: text " << i;
    }
  }
}

TEST_P(SameBitsTest, ScoresDoNotDependOnBatchMates) {
  LoadedModel loaded(folder_, 2);
  if (loaded.model->info().n_labels == 0) return;
  const Texts texts = RandomTexts(loaded.model->info().vocab, 22);
  PackedTexts packed;
  for (const auto& text : texts) packed.Add(text);
  const auto together = loaded.Classify(packed.batch());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    PackedTexts alone;
    alone.Add(texts[i]);
    EXPECT_EQ(loaded.Classify(alone.batch())[0], together[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, SameBitsTest,
                         testing::Values("bert", "xlm_roberta", "modernbert", "qwen3_embedding",
                                         "embeddinggemma", "bert_reranker", "xlm_roberta_reranker"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace lattice::models
