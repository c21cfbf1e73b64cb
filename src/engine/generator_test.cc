#include "engine/generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "base/utf8.h"
#include "engine/text_score.h"
#include "kernels/cpu/cpu_backend.h"
#include "models/model_files.h"
#include "weights/checkpoint.h"

namespace lattice::engine {
namespace {

/// Attention alone, and a hybrid with recurrent layers.
class GeneratorTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(LATTICE_FIXTURES) / GetParam();
    backend_ = kernels::MakeCpuBackend(pool_, CpuFeatures::Detect());
    const auto files = models::ModelFiles::Open(folder_);
    ASSERT_TRUE(files) << files.error().message;
    auto model = LoadTextModel(**files, *backend_, {.precision = kernels::Precision::kF32});
    ASSERT_TRUE(model) << model.error().message;
    model_ = std::make_unique<TextModel>(std::move(model).value());
    generator_ = std::make_unique<Generator>(*model_, *backend_);
    auto golden = weights::Checkpoint::Open(folder_ / "golden.safetensors");
    ASSERT_TRUE(golden) << golden.error().message;
    ids_ = Ids(**golden, "input_ids");
    greedy_ = Ids(**golden, "greedy_cached_from_37");
    nll_ = *(*golden)->Find("nll")->ToF32();
  }

  static std::vector<TokenId> Ids(const weights::Checkpoint& file, const char* name) {
    const weights::TensorView* tensor = file.Find(name);
    std::vector<TokenId> ids(tensor->n_elements());
    const std::size_t width = DtypeBytes(tensor->dtype);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      std::memcpy(&ids[i], tensor->bytes.data() + i * width, sizeof(TokenId));  // little-endian
    }
    return ids;
  }

  ContextCache Context(std::size_t max_tokens = 256) {
    auto cache = ContextCache::Make(*model_->model, *backend_, kernels::KvType::kF32,
                                    {.max_tokens = max_tokens});
    EXPECT_TRUE(cache) << cache.error().message;
    return std::move(cache).value();
  }

  static GenerationOptions Greedy(std::size_t max_tokens) {
    GenerationOptions options;
    options.max_tokens = max_tokens;
    options.sampling.temperature = 0;
    options.ignore_stop_tokens = true;
    return options;
  }

  Generation Run(std::span<const TokenId> prompt, const GenerationOptions& options,
                 ContextCache& context) {
    auto result =
        generator_->Run(prompt, options, context, [](const GeneratedToken&) { return Ok(); });
    EXPECT_TRUE(result) << result.error().message;
    return result ? std::move(result).value() : Generation();
  }

  static ScoreOptions Windows(std::size_t window, std::size_t stride) {
    ScoreOptions options;
    options.window = window;
    options.stride = stride;
    return options;
  }

  std::span<const TokenId> Prompt(std::size_t n) const { return std::span(ids_).first(n); }

  std::filesystem::path folder_;
  ThreadPool pool_{2};
  std::unique_ptr<kernels::Backend> backend_;
  std::unique_ptr<TextModel> model_;
  std::unique_ptr<Generator> generator_;
  std::vector<TokenId> ids_, greedy_;
  std::vector<float> nll_;
};

TEST_P(GeneratorTest, GreedyAnswersAreTheReferences) {
  ContextCache context = Context();
  const Generation answer = Run(Prompt(37), Greedy(greedy_.size()), context);
  EXPECT_EQ(answer.ids, greedy_);
  EXPECT_EQ(answer.finish, FinishReason::kLength);
  EXPECT_EQ(answer.usage.n_cached, 0u);
  EXPECT_EQ(answer.text, *model_->tokenizer->Decode(greedy_, true));
}

TEST_P(GeneratorTest, WhatWasReadIsNotReadAgainAndChangesNothing) {
  ContextCache context = Context();
  Run(Prompt(37), Greedy(10), context);
  // The same beginning, then something else: the prompt's end was kept.
  std::vector<TokenId> longer(ids_.begin(), ids_.begin() + 37);
  longer.insert(longer.end(), ids_.begin() + 60, ids_.begin() + 80);
  const Generation warm = Run(longer, Greedy(12), context);
  EXPECT_EQ(warm.usage.n_cached, 37u);
  ContextCache fresh = Context();
  const Generation cold = Run(longer, Greedy(12), fresh);
  EXPECT_EQ(warm.ids, cold.ids);
  // The same prompt once more leaves one token to read at least.
  const Generation again = Run(longer, Greedy(12), context);
  EXPECT_GT(again.usage.n_cached, 0u);
  EXPECT_LT(again.usage.n_cached, longer.size());
  EXPECT_EQ(again.ids, cold.ids);
}

TEST_P(GeneratorTest, PiecesOfThePromptChangeNothing) {
  ContextCache whole = Context(), pieces = Context();
  GenerationOptions options = Greedy(8);
  options.n_top_log_probabilities = 3;
  const Generation one = Run(Prompt(50), options, whole);
  generator_ = std::make_unique<Generator>(*model_, *backend_, /*prompt_chunk=*/7);
  const Generation many = Run(Prompt(50), options, pieces);
  ASSERT_EQ(one.ids, many.ids);
  for (std::size_t i = 0; i < one.ids.size(); ++i) {
    EXPECT_EQ(one.log_probabilities[i].chosen.log_probability,
              many.log_probabilities[i].chosen.log_probability);
    EXPECT_EQ(one.log_probabilities[i].top[0].id, one.ids[i]);
  }
}

TEST_P(GeneratorTest, EndsWhereItIsTold) {
  ContextCache context = Context();
  GenerationOptions options = Greedy(0);
  const Generation free = Run(Prompt(37), Greedy(12), context);
  ContextCache small = Context(40);
  const Generation full = Run(Prompt(37), options, small);
  EXPECT_EQ(full.finish, FinishReason::kContext);
  EXPECT_EQ(full.ids.size(), 4u);  // the last one is told, not read
  // A stop text that the answer contains (both answers begin with plain letters and signs).
  ASSERT_GT(free.text.size(), 7u);
  const std::string stop = free.text.substr(4, 3);
  options.max_tokens = 12;
  options.stop_strings = {stop};
  ContextCache other = Context();
  const Generation cut = Run(Prompt(37), options, other);
  EXPECT_EQ(cut.finish, FinishReason::kStop);
  EXPECT_EQ(cut.text, free.text.substr(0, free.text.find(stop)));
}

TEST_P(GeneratorTest, StopTokensWaitForTheLeastLength) {
  ContextCache context = Context();
  const Generation free = Run(Prompt(37), Greedy(12), context);
  GenerationOptions options = Greedy(12);
  options.stop_tokens = {free.ids[1]};
  const Generation stopped = Run(Prompt(37), options, context);
  EXPECT_LE(stopped.ids.size(), 2u);
  options.min_tokens = 6;
  const Generation longer = Run(Prompt(37), options, context);
  EXPECT_GE(longer.ids.size(), 6u);
  EXPECT_EQ(std::count(longer.ids.begin(), longer.ids.begin() + 5, free.ids[1]), 0);
}

/// Lets the model say these tokens and no other.
class Script final : public decoding::LogitMask {
 public:
  explicit Script(std::vector<TokenId> ids) : ids_(std::move(ids)) {}
  Status Fill(std::span<std::uint64_t> allowed) override {
    std::ranges::fill(allowed, 0);
    const auto id = static_cast<std::size_t>(ids_[n_said_]);
    allowed[id / 64] = std::uint64_t{1} << id % 64;
    return Ok();
  }
  Status Accept(TokenId) override {
    ++n_said_;
    return Ok();
  }

 private:
  std::vector<TokenId> ids_;
  std::size_t n_said_ = 0;
};

TEST_P(GeneratorTest, AnAnswerThatIsCutInsideACharacterIsText) {
  std::vector<TokenId> ids;
  for (const char* spelled : {"a", "ð", "Ł", "ĺ", "Ģ"}) {  // a and the four bytes of one character
    ids.push_back(model_->tokenizer->Find(spelled).value());
  }
  const std::string cut = "a\uFFFD";
  const std::string texts[] = {"a", cut, cut, cut, "a\U0001F600"};
  for (std::size_t n = 1; n <= ids.size(); ++n) {
    GenerationOptions options = Greedy(n);
    options.mask = std::make_shared<Script>(ids);
    ContextCache context = Context();
    const Generation answer = Run(Prompt(37), options, context);
    EXPECT_EQ(answer.text, texts[n - 1]);
    EXPECT_EQ(answer.finish, FinishReason::kLength);
  }
}

TEST_P(GeneratorTest, RandomBytesAreText) {
  bool any_broken = false;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    GenerationOptions options = Greedy(30);
    options.sampling.temperature = 100;
    options.sampling.seed = seed;
    ContextCache context = Context();
    std::string joined;
    const auto answer =
        generator_->Run(Prompt(5), options, context, [&](const GeneratedToken& token) {
          EXPECT_TRUE(IsValidUtf8(token.text));
          joined += token.text;
          return Ok();
        });
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->text, joined);
    any_broken = any_broken || joined.find("\uFFFD") != std::string::npos;
  }
  EXPECT_TRUE(any_broken);
}

TEST_P(GeneratorTest, ThinkingEndsAtItsLimit) {
  ContextCache context = Context();
  GenerationOptions options = Greedy(10);
  ThinkingLimit limit;
  limit.max_tokens = 3;
  limit.begins_inside = true;
  limit.closing = {5, 6};
  limit.close = 6;
  options.thinking = limit;
  const Generation answer = Run(Prompt(37), options, context);
  ASSERT_EQ(answer.ids.size(), 10u);
  EXPECT_EQ(answer.ids[3], 5);
  EXPECT_EQ(answer.ids[4], 6);
}

TEST_P(GeneratorTest, RefusesWhatDoesNotFit) {
  ContextCache context = Context(32);
  const auto sink = [](const GeneratedToken&) { return Ok(); };
  const auto longer = generator_->Run(Prompt(37), Greedy(1), context, sink);
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(longer.error().message.find("37"), std::string::npos);
  EXPECT_FALSE(generator_->Run({}, Greedy(1), context, sink));
  const TokenId outside[] = {static_cast<TokenId>(model_->model->info().vocab)};
  EXPECT_FALSE(generator_->Run(outside, Greedy(1), context, sink));
}

TEST_P(GeneratorTest, StopsOnRequest) {
  ContextCache context = Context();
  std::stop_source stop;
  GenerationOptions options = Greedy(50);
  options.stop = stop.get_token();
  std::size_t n = 0;
  const auto result = generator_->Run(Prompt(37), options, context, [&](const GeneratedToken&) {
    if (++n == 3) stop.request_stop();
    return Ok();
  });
  ASSERT_TRUE(result);
  EXPECT_EQ(result->finish, FinishReason::kCancelled);
  EXPECT_EQ(result->ids.size(), 3u);
}

TEST_P(GeneratorTest, ScoreIsTheReferences) {
  const auto one_window = ScoreText(*model_, nullptr, ids_, Windows(150, 75), *backend_);
  ASSERT_TRUE(one_window) << one_window.error().message;
  double sum = 0;
  for (const float nll : nll_) sum += static_cast<double>(nll);
  EXPECT_EQ(one_window->n_tokens, nll_.size());
  EXPECT_NEAR(one_window->mean_nll, sum / static_cast<double>(nll_.size()), 1e-4);
  // Windows: 150 = 60 + 3 * 30 tokens; each guessed once; against itself nothing differs.
  const auto windows = ScoreText(*model_, model_.get(), ids_, Windows(60, 30), *backend_);
  ASSERT_TRUE(windows) << windows.error().message;
  EXPECT_EQ(windows->n_tokens, nll_.size());
  EXPECT_EQ(windows->n_windows, 4u);
  EXPECT_EQ(windows->comparison->same_best, 1.0);
  EXPECT_NEAR(windows->comparison->mean_kl, 0, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Families, GeneratorTest, testing::Values("llama", "qwen3_5"),
                         [](const auto& suite) { return std::string(suite.param); });

}  // namespace
}  // namespace lattice::engine
