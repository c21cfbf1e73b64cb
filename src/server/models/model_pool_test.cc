#include "server/models/model_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace lattice::server {
namespace {

using namespace std::chrono_literals;

/// Embedding models that compute nothing, and how many of them there are.
struct Fakes {
  std::atomic<int> n_alive{0};
  std::atomic<int> n_loads{0};
  std::atomic<bool> fails{false};

  NamedModel Named(std::string id, ModelKind kind = ModelKind::kEmbedding) {
    NamedModel named{.id = id, .aliases = {id + "-alias"}, .kind = kind, .created = 1, .load = {}};
    named.load = [this, id]() -> Result<LoadedModel> {
      ++n_loads;
      if (fails) return Error{ErrorCode::kCorruptData, "/home/me/model.bin: 'a': bad bytes"};
      ++n_alive;
      const std::shared_ptr<ServedEmbedder> model(new ServedEmbedder, [this](ServedEmbedder* gone) {
        delete gone;
        --n_alive;
      });
      model->id = id;
      model->info.max_tokens = 7;
      return LoadedModel{.text = nullptr, .embedder = model};
    };
    return named;
  }
};

template <typename Condition>
bool Becomes(Condition condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(2ms);
  }
  return false;
}

ApiResult<EmbedderPtr> Await(ModelPool& pool, const std::string& name) {
  auto model = pool.Embedder(name);
  Becomes([&] {
    if (!model) model = pool.Embedder(name);
    return bool(model);
  });
  return model;
}

TEST(ModelPoolTest, LoadsAllAtTheStartOrSaysWhyNot) {
  Fakes fakes;
  {
    ModelPool pool({fakes.Named("a"), fakes.Named("b", ModelKind::kReranker)}, {});
    ASSERT_TRUE(pool.Start(true));
    EXPECT_EQ(fakes.n_alive, 2);
    EXPECT_EQ((*pool.Embedder(std::nullopt))->id, "a");
    EXPECT_EQ((*pool.Reranker("b-alias"))->id, "b");
    EXPECT_EQ(pool.Embedder("b").error().status, 404);
    EXPECT_EQ(pool.Text(std::nullopt).error().status, 404);
  }
  EXPECT_EQ(fakes.n_alive, 0);
  fakes.fails = true;
  ModelPool pool({fakes.Named("a")}, {});
  EXPECT_EQ(pool.Start(true).error().code, ErrorCode::kCorruptData);
}

TEST(ModelPoolTest, LazyOnesAreLoadedOnFirstUse) {
  Fakes fakes;
  ModelPool pool({fakes.Named("a"), fakes.Named("b")}, {});
  ASSERT_TRUE(pool.Start(false));
  EXPECT_EQ(fakes.n_loads, 0);
  const auto first = pool.Embedder("a");
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().status, 503);
  EXPECT_EQ(first.error().code, "model_loading");
  EXPECT_GE(first.error().retry_after_s, 1);
  EXPECT_TRUE(Await(pool, "a"));
  EXPECT_EQ(fakes.n_loads, 1);
  const auto states = pool.States();
  EXPECT_EQ(states[0].phase, ModelState::Phase::kLoaded);
  EXPECT_EQ(states[0].max_tokens, 7u);
  EXPECT_EQ(states[1].phase, ModelState::Phase::kUnloaded);
  EXPECT_EQ(states[1].max_tokens, std::nullopt);
}

TEST(ModelPoolTest, AModelInUseStaysUntilItIsGivenBack) {
  Fakes fakes;
  ModelPool pool({fakes.Named("a")}, {});
  ASSERT_TRUE(pool.Start(true));
  auto lent = pool.Embedder("a");
  ASSERT_TRUE(lent);
  EXPECT_FALSE(pool.Unload("a"));
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(fakes.n_alive, 1);
  EXPECT_EQ((*lent)->id, "a");
  lent = ApiError{};
  EXPECT_TRUE(Becomes([&] { return fakes.n_alive == 0; }));
  EXPECT_TRUE(Await(pool, "a"));
  EXPECT_EQ(fakes.n_loads, 2);
  EXPECT_EQ(pool.Unload("none")->status, 404);
}

TEST(ModelPoolTest, AskingAgainKeepsAModelThatWasToGo) {
  Fakes fakes;
  ModelPool pool({fakes.Named("a")}, {});
  ASSERT_TRUE(pool.Start(true));
  {
    const auto first = pool.Embedder("a");
    EXPECT_FALSE(pool.Unload("a"));
    EXPECT_TRUE(pool.Embedder("a"));
  }
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(fakes.n_alive, 1);
  EXPECT_EQ(fakes.n_loads, 1);
}

TEST(ModelPoolTest, UnusedModelsAreUnloaded) {
  Fakes fakes;
  ModelPool pool({fakes.Named("a"), fakes.Named("b")}, {.keep_alive = 60ms});
  ASSERT_TRUE(pool.Start(true));
  {
    const auto lent = pool.Embedder("a");
    EXPECT_TRUE(Becomes([&] { return fakes.n_alive == 1; }));
    std::this_thread::sleep_for(100ms);
    EXPECT_EQ(fakes.n_alive, 1);
  }
  EXPECT_TRUE(Becomes([&] { return fakes.n_alive == 0; }));
}

TEST(ModelPoolTest, AFailureIsToldAndTriedAgainLater) {
  Fakes fakes;
  fakes.fails = true;
  ModelPool pool({fakes.Named("a")}, {.first_pause = 100ms, .longest_pause = 200ms});
  ASSERT_TRUE(pool.Start(false));
  (void)pool.Embedder("a");
  ASSERT_TRUE(Becomes([&] { return pool.State("a")->failure.has_value(); }));
  EXPECT_EQ(*pool.State("a")->failure, "model.bin: 'a': bad bytes");
  const auto told = pool.Embedder("a");
  EXPECT_EQ(told.error().code, "model_load_failed");
  EXPECT_EQ(fakes.n_loads, 1);
  fakes.fails = false;
  EXPECT_TRUE(Await(pool, "a"));
  EXPECT_EQ(pool.State("a")->failure, std::nullopt);
}

TEST(ModelPoolTest, StopWaitsForWhoeverUsesAModel) {
  Fakes fakes;
  ModelPool pool({fakes.Named("a")}, {});
  ASSERT_TRUE(pool.Start(true));
  std::atomic<bool> gave_back{false};
  std::thread user([&, lent = *pool.Embedder("a")]() mutable {
    std::this_thread::sleep_for(30ms);
    gave_back = true;
    lent.reset();
  });
  pool.Stop();
  EXPECT_TRUE(gave_back);
  EXPECT_EQ(fakes.n_alive, 0);
  EXPECT_EQ(pool.Embedder("a").error().code, "shutting_down");
  user.join();
}

TEST(ModelPoolTest, CountsOfAModelNeverGoBack) {
  std::vector<std::uint64_t> seen;
  ModelPool* pool = nullptr;
  const auto look = [&] { seen.push_back(pool->State("a")->engine->generated_tokens); };
  NamedModel named{.id = "a", .aliases = {}, .kind = ModelKind::kText, .created = 1, .load = {}};
  named.load = [&]() -> Result<LoadedModel> {
    engine::SchedulerMetrics metrics;
    metrics.generated_tokens = 5;
    const std::shared_ptr<ServedTextModel> model(
        new ServedTextModel{.id = "a",
                            .aliases = {},
                            .tokenizer = nullptr,
                            .defaults = {},
                            .chat = Error{ErrorCode::kUnsupported, "no template"},
                            .grammars = nullptr,
                            .submit = {},
                            .metrics = [metrics] { return metrics; },
                            .stop = [] {},
                            .engine = nullptr},
        [&](ServedTextModel* gone) {
          look();
          delete gone;
        });
    return LoadedModel{.text = model, .embedder = nullptr};
  };
  ModelPool pools({named}, {});
  pool = &pools;
  ASSERT_TRUE(pools.Start(true));
  look();
  ASSERT_FALSE(pools.Unload("a"));
  ASSERT_TRUE(Becomes([&] { return pools.State("a")->phase == ModelState::Phase::kUnloaded; }));
  ASSERT_FALSE(pools.Load("a"));  // after which what came before it is over
  ASSERT_TRUE(Becomes([&] { return pools.State("a")->phase == ModelState::Phase::kLoaded; }));
  look();
  pools.Stop();
  EXPECT_EQ(seen, std::vector<std::uint64_t>({5, 5, 10, 10}));
}

}  // namespace
}  // namespace lattice::server
