// A pass on a warmed-up workspace allocates nothing.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <random>

#include "models/test_generator.h"

namespace {
std::atomic<std::size_t> n_allocations{0};  // NOLINT: operator new has no other place
}

// Not inlined: the compiler would see free() beside a library's new and warn.

[[gnu::noinline]] void* operator new(std::size_t size) {
  ++n_allocations;
  if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t align) {
  ++n_allocations;
  const auto a = static_cast<std::size_t>(align);
  if (void* p = std::aligned_alloc(a, (size + a - 1) / a * a)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}

namespace lattice::models {
namespace {

class WarmPassTest : public testing::TestWithParam<const char*> {};

TEST_P(WarmPassTest, AllocatesNothing) {
  LoadedModel loaded(std::filesystem::path(LATTICE_FIXTURES) / GetParam(), 2);
  std::mt19937 rng(23);
  const auto text = [&](std::size_t n) {
    std::vector<TokenId> ids(n);
    for (TokenId& id : ids) id = static_cast<TokenId>(rng() % loaded.model->info().vocab);
    return ids;
  };
  PackedTexts large, small;
  for (const std::size_t n : {1u, 2u, 17u, 90u, 64u, 65u, 1u, 8u}) large.Add(text(n));
  for (const std::size_t n : {33u, 2u}) small.Add(text(n));
  for (const auto [begin, end] : large.sequences) large.outputs.push_back(end - 1);
  small.outputs = {0, 34};
  loaded.model->Forward(large.batch(), loaded.workspace);
  const std::size_t before = n_allocations;
  loaded.model->Forward(small.batch(), loaded.workspace);
  loaded.model->Forward(large.batch(), loaded.workspace);
  EXPECT_EQ(n_allocations - before, 0u);
}

INSTANTIATE_TEST_SUITE_P(Tiny, WarmPassTest,
                         testing::Values("bert", "xlm_roberta", "modernbert", "qwen3_embedding",
                                         "embeddinggemma", "bert_reranker", "xlm_roberta_reranker"),
                         [](const auto& param) { return std::string(param.param); });

class WarmStepTest : public testing::TestWithParam<const char*> {};

TEST_P(WarmStepTest, AllocatesNothing) {
  Generator generator(std::filesystem::path(LATTICE_FIXTURES) / GetParam(), {.n_threads = 2});
  const auto first = generator.store->New(), second = generator.store->New();
  Sequence* const states[] = {first.get(), second.get()};
  for (Sequence* state : states) ASSERT_TRUE(state->Reserve(200));
  const Ids prompt(50, 7);
  const Generator::Piece pieces[] = {{first.get(), prompt}, {second.get(), prompt}};
  generator.Read(pieces);
  const TokenId ids[] = {3, 5};
  const SequenceRows rows[] = {{0, 1}, {1, 2}};
  const Batch step{
      .ids = ids, .type_ids = {}, .sequences = rows, .output_rows = {}, .states = states};
  const auto take = [&] {
    const auto& hidden = generator.model->Forward(step, generator.workspace);
    generator.model->Logits(hidden, {}, generator.workspace);
  };
  take();
  const std::size_t before = n_allocations;
  for (int i = 0; i < 40; ++i) take();  // over the ends of a page and of a chunk
  EXPECT_EQ(n_allocations - before, 0u);
}

INSTANTIATE_TEST_SUITE_P(Tiny, WarmStepTest,
                         testing::Values("llama", "gemma3", "gemma4", "qwen3_5", "qwen3_5_moe"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace lattice::models
