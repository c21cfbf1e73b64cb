// A token's bits do not depend on what runs beside it, on the threads, or on where its state comes
// from. (Nor on how its text was cut: see generator_test.cc.)
#include <gtest/gtest.h>

#include <random>

#include "models/test_generator.h"
#include "weights/test_files.h"

namespace lattice::models {
namespace {

class GeneratorBitsTest : public testing::TestWithParam<const char*> {
 protected:
  std::filesystem::path folder_ = std::filesystem::path(LATTICE_FIXTURES) / GetParam();
  Golden golden_{folder_ / "golden.safetensors"};
  Ids ids_ = golden_.Ints("input_ids");
};

Ids RandomIds(std::size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  Ids ids(n);
  for (TokenId& id : ids) id = static_cast<TokenId>(rng() % 768);
  return ids;
}

TEST_P(GeneratorBitsTest, WhateverRunsBesideIt) {
  const std::vector<Ids> texts = {ids_, RandomIds(1, 1), RandomIds(70, 2), RandomIds(131, 3),
                                  RandomIds(33, 4)};
  Generator alone(folder_);
  std::vector<std::vector<float>> want, got(texts.size());
  for (const Ids& text : texts) {
    const auto sequence = alone.store->New();
    want.push_back(alone.Read(*sequence, text));
  }
  for (const std::size_t n_threads : {1, 2, 3}) {
    Generator generator(folder_, {.n_threads = n_threads});
    std::mt19937 rng(static_cast<unsigned>(n_threads));
    std::vector<std::unique_ptr<Sequence>> sequences;
    std::vector<std::span<const TokenId>> left(texts.begin(), texts.end());
    for (std::size_t i = 0; i < texts.size(); ++i) sequences.push_back(generator.store->New());
    for (auto& logits : got) logits.clear();
    while (true) {  // Each step takes some tokens of some texts.
      std::vector<Generator::Piece> pieces;
      std::vector<std::size_t> owners;
      for (std::size_t i = 0; i < texts.size(); ++i) {
        const std::size_t n = std::min<std::size_t>(left[i].size(), rng() % 40);
        if (n == 0) continue;
        pieces.push_back({sequences[i].get(), left[i].first(n)});
        owners.push_back(i);
        left[i] = left[i].subspan(n);
      }
      if (pieces.empty() && std::ranges::all_of(left, [](const auto& l) { return l.empty(); })) {
        break;
      }
      if (pieces.empty()) continue;
      const auto logits = generator.Read(pieces);
      auto at = logits.begin();
      for (std::size_t p = 0; p < pieces.size(); ++p) {
        const auto n = static_cast<std::ptrdiff_t>(pieces[p].ids.size() * 768);
        got[owners[p]].insert(got[owners[p]].end(), at, at + n);
        at += n;
      }
    }
    for (std::size_t i = 0; i < texts.size(); ++i) {
      EXPECT_TRUE(SameBits(got[i], want[i])) << "text " << i << ", " << n_threads << " threads";
    }
  }
}

/// Continues with `ids` and compares with a text that was read afresh.
void ExpectContinues(Generator& generator, Sequence& sequence, const Ids& before, const Ids& ids,
                     const char* what) {
  Ids all = before;
  all.insert(all.end(), ids.begin(), ids.end());
  const auto fresh = generator.store->New();
  const auto want = generator.Read(*fresh, all);
  const auto got = generator.Read(sequence, ids);
  EXPECT_TRUE(SameBits(got, std::span(want).last(got.size()))) << what;
}

TEST_P(GeneratorBitsTest, AfterAForkBothGoOnAlone) {
  Generator generator(folder_);
  const Ids start(ids_.begin(), ids_.begin() + 101);
  const auto sequence = generator.store->New();
  generator.Read(*sequence, start);
  const std::size_t free = generator.store->free_pages();
  const auto fork = sequence->Fork().value();
  EXPECT_EQ(generator.store->free_pages(), free) << "pages are shared";
  ExpectContinues(generator, *fork, start, RandomIds(30, 5), "the fork");
  ExpectContinues(generator, *sequence, start, RandomIds(80, 6), "the original");
}

TEST_P(GeneratorBitsTest, AfterTruncation) {
  Generator generator(folder_);
  const auto sequence = generator.store->New();
  generator.Read(*sequence, ids_);
  for (const std::size_t n : {149, 131, 128}) {
    ASSERT_TRUE(sequence->Truncate(n));
    EXPECT_EQ(sequence->n_tokens(), n);
    const Ids kept(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(n));
    const auto fork = sequence->Fork().value();
    ExpectContinues(generator, *fork, kept, RandomIds(40, 7), "from there");
  }
  ASSERT_TRUE(sequence->Truncate(0));
  ExpectContinues(generator, *sequence, {}, RandomIds(40, 8), "from the start");
}

TEST_P(GeneratorBitsTest, AfterAJourneyThroughAFile) {
  const TestFolder folder;
  const auto file = folder.path() / "saved";
  const Ids start(ids_.begin(), ids_.begin() + 77);
  {
    Generator generator(folder_, {.kv_type = kernels::KvType::kF16});
    const auto sequence = generator.store->New();
    generator.Read(*sequence, start);
    ASSERT_TRUE(sequence->Save(file));
  }
  Generator generator(folder_, {.n_threads = 2, .kv_type = kernels::KvType::kF16});
  auto loaded = generator.store->Load(file);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ((*loaded)->n_tokens(), 77u);
  ASSERT_TRUE((*loaded)->Truncate(70));
  const Ids kept(start.begin(), start.begin() + 70);
  ExpectContinues(generator, **loaded, kept, RandomIds(50, 9), "loaded");
}

TEST_P(GeneratorBitsTest, OtherModelsRefuseTheFile) {
  const TestFolder folder;
  const auto file = folder.path() / "saved";
  Generator generator(folder_);
  const auto sequence = generator.store->New();
  generator.Read(*sequence, ids_);
  ASSERT_TRUE(sequence->Save(file));
  Generator other_precision(folder_, {.precision = kernels::Precision::kBf16});
  const auto refused = other_precision.store->Load(file);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(refused.error().message.find("another model"), std::string::npos);
  Generator other_type(folder_, {.kv_type = kernels::KvType::kF16});
  EXPECT_EQ(other_type.store->Load(file).error().code, ErrorCode::kUnsupported);
}

INSTANTIATE_TEST_SUITE_P(Tiny, GeneratorBitsTest,
                         testing::Values("llama", "qwen2", "qwen3", "gemma3", "gemma4", "qwen3_5",
                                         "qwen3_5_untied", "qwen3_5_moe"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace lattice::models
