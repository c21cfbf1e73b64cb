#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "engine/generator.h"
#include "engine/scheduler.h"
#include "engine/text_model.h"
#include "kernels/cpu/cpu_backend.h"
#include "models/model_files.h"

namespace lattice::engine {

/// A tiny model of tests/fixtures on a backend of its own.
struct TestEngine {
  explicit TestEngine(const std::string& fixture) {
    const auto folder = std::filesystem::path(LATTICE_FIXTURES) / fixture;
    const auto files = models::ModelFiles::Open(folder);
    if (!files) Die(files.error());
    auto loaded = LoadTextModel(**files, *backend, {.precision = kernels::Precision::kF32});
    if (!loaded) Die(loaded.error());
    model = std::move(loaded).value();
  }
  [[noreturn]] static void Die(const Error& error) {
    ADD_FAILURE() << error.message;
    std::abort();
  }

  const models::StateShape& shape() const { return model.model->state_shape(); }
  bool is_recurrent() const { return shape().BytesPerSequence() > 0; }
  /// A budget of so many pages beside the states of so many sequences.
  std::size_t BytesFor(std::size_t n_pages, std::size_t n_sequences) const {
    return n_pages * kernels::kPageTokens * shape().BytesPerToken(kernels::KvType::kF16) +
           n_sequences * shape().BytesPerSequence();
  }

  std::vector<TokenId> RandomIds(std::size_t n) {
    std::uniform_int_distribution<TokenId> any(0, static_cast<TokenId>(model.n_tokens()) - 1);
    std::vector<TokenId> ids(n);
    for (TokenId& id : ids) id = any(random);
    return ids;
  }

  ThreadPool pool{2};
  std::unique_ptr<kernels::Backend> backend = kernels::MakeCpuBackend(pool, CpuFeatures::Detect());
  TextModel model;
  std::mt19937 random{20240607};
};

/// What a request was told.
struct Told {
  std::vector<TokenId> ids;
  std::string text;
  std::vector<float> log_probabilities;
  std::optional<GenerationEnd> end;
  int n_ends = 0;
};

/// A request that draws n tokens, whatever they are, and writes down what it is told.
inline GenerationRequest DrawTokens(std::vector<TokenId> prompt, std::size_t n, Told& told,
                                    std::uint64_t seed = 1) {
  GenerationRequest request;
  request.prompt = std::move(prompt);
  request.options.max_tokens = n;
  request.options.ignore_stop_tokens = true;
  request.options.n_top_log_probabilities = 2;
  request.options.sampling.temperature = 0.8f;
  request.options.sampling.repetition_penalty = 1.1f;
  request.options.sampling.seed = seed;
  request.on_token = [&told](const GeneratedToken& token) {
    if (token.id >= 0) told.ids.push_back(token.id);
    told.text += token.text;
    if (token.log_probabilities == nullptr) return;
    told.log_probabilities.push_back(token.log_probabilities->chosen.log_probability);
    for (const auto& top : token.log_probabilities->top) {
      told.log_probabilities.push_back(top.log_probability);
    }
  };
  request.on_end = [&told](const GenerationEnd& end) {
    told.end = end;
    ++told.n_ends;
  };
  return request;
}

/// What the single-user generator makes of the same request.
inline Told Alone(TestEngine& engine, const GenerationRequest& request) {
  Told told;
  auto context = ContextCache::Make(*engine.model.model, *engine.backend, kernels::KvType::kF16,
                                    {.max_tokens = 1024});
  if (!context) TestEngine::Die(context.error());
  Generator generator(engine.model, *engine.backend);
  const GenerationRequest own = DrawTokens({}, 0, told);
  const auto made =
      generator.Run(request.prompt, request.options, *context, [&](const GeneratedToken& token) {
        own.on_token(token);
        return Ok();
      });
  if (!made) TestEngine::Die(made.error());
  told.end = GenerationEnd{made->finish, made->usage, {}, {}};
  return told;
}

/// Equal to the last bit.
inline void ExpectSame(const Told& told, const Told& expected) {
  ASSERT_TRUE(told.end);
  ASSERT_FALSE(told.end->error) << told.end->error->message;
  EXPECT_EQ(told.end->finish, expected.end->finish);
  EXPECT_EQ(told.end->usage.n_generated, expected.end->usage.n_generated);
  EXPECT_EQ(told.ids, expected.ids);
  EXPECT_EQ(told.text, expected.text);
  EXPECT_EQ(told.log_probabilities, expected.log_probabilities);
}

}  // namespace lattice::engine
