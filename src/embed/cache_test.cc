#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "embed/cache_key.h"
#include "lattice/embedding.h"

namespace lattice {
namespace {

// A service whose vectors say which text and role they belong to. Counts what it computes.
class FakeService final : public EmbeddingService {
 public:
  static std::vector<float> VectorOf(const std::string& text, Role role) {
    std::vector<float> v(8, 0.0f);
    for (std::size_t i = 0; i < text.size(); ++i) {
      v[i % 8] = v[i % 8] * 1.37f + static_cast<float>(static_cast<unsigned char>(text[i]));
    }
    v[7] += static_cast<float>(role) * 0.25f;
    return v;
  }

  Result<Embeddings> Embed(std::span<const std::string> texts,
                           const EmbedRequest& request) override {
    std::function<Status(std::span<const std::string>)> hook;
    {
      const std::scoped_lock lock(mutex_);
      ++n_calls_;
      for (const auto& text : texts) ++computed_[text];
      hook = hook_;
    }
    if (hook) {
      if (Status status = hook(texts); !status) return std::move(status).error();
    }
    Embeddings result;
    result.dimensions = 8;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const auto v = VectorOf(texts[i], request.role);
      result.values.insert(result.values.end(), v.begin(), v.end());
      result.usage.push_back({texts[i].size(), texts[i].size() + 1});
      if (request.progress) request.progress(i + 1, texts.size());
    }
    return result;
  }
  Result<EmbeddingModelInfo> Describe(std::string_view model) override {
    if (model == "absent") return Error{ErrorCode::kNotFound, "no model"};
    EmbeddingModelInfo info;
    info.name = model;
    const std::scoped_lock lock(mutex_);
    info.revision = revision_;
    return info;
  }
  Result<std::vector<RerankScore>> Rerank(std::span<const std::string> documents,
                                          const RerankRequest&) override {
    return std::vector<RerankScore>(documents.size());
  }
  bool Unload(std::string_view model) override { return model == "loaded"; }

  void SetHook(std::function<Status(std::span<const std::string>)> hook) {
    const std::scoped_lock lock(mutex_);
    hook_ = std::move(hook);
  }
  void SetRevision(std::string revision) {
    const std::scoped_lock lock(mutex_);
    revision_ = std::move(revision);
  }
  int computed(const std::string& text) {
    const std::scoped_lock lock(mutex_);
    return computed_[text];
  }
  int n_calls() {
    const std::scoped_lock lock(mutex_);
    return n_calls_;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, int> computed_;
  int n_calls_ = 0;
  std::string revision_ = "r1";
  std::function<Status(std::span<const std::string>)> hook_;
};

struct Cached {
  explicit Cached(EmbeddingCacheOptions options = {}) {
    auto owned = std::make_unique<FakeService>();
    fake = owned.get();
    service = MakeCachedEmbeddingService(std::move(owned), options);
  }
  FakeService* fake;
  std::unique_ptr<CachedEmbeddingService> service;
};

void ExpectVectors(const Result<Embeddings>& result, const std::vector<std::string>& texts,
                   Role role = Role::kNone) {
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto got = (*result)[i];
    EXPECT_EQ(std::vector<float>(got.begin(), got.end()), FakeService::VectorOf(texts[i], role));
    EXPECT_EQ(result->usage[i].n_tokens, texts[i].size());
    EXPECT_EQ(result->usage[i].n_tokens_untruncated, texts[i].size() + 1);
  }
}

// A gate that a computing call waits at until the test opens it.
class Gate {
 public:
  void Pass() {
    std::unique_lock lock(mutex_);
    ++n_arrived_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void AwaitArrival() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return n_arrived_ > 0; });
  }
  void Open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int n_arrived_ = 0;
  bool open_ = false;
};

// Lets a call that was just started reach its wait; the tests hold either way.
void LetOthersRun() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

TEST(CacheTest, SecondAskingIsAHitWithTheSameBits) {
  Cached c;
  const std::vector<std::string> texts = {"one", "two", "", "three"};
  ExpectVectors(c.service->Embed(texts, {}), texts);
  const std::vector<std::string> again = {"three", "new", "one", ""};
  ExpectVectors(c.service->Embed(again, {}), again);
  const auto stats = c.service->stats();
  EXPECT_EQ(stats.misses, 5u);
  EXPECT_EQ(stats.hits, 3u);
  EXPECT_EQ(stats.coalesced, 0u);
  EXPECT_EQ(stats.entries, 5u);
  EXPECT_GT(stats.bytes, 5 * (8 * sizeof(float) + 32));
  c.service->Clear();
  EXPECT_EQ(c.service->stats().entries, 0u);
  EXPECT_EQ(c.service->stats().bytes, 0u);
  ExpectVectors(c.service->Embed(texts, {}), texts);
  EXPECT_EQ(c.fake->computed("one"), 2);
}

TEST(CacheTest, DuplicatesInOneCallAreComputedOnce) {
  Cached c;
  const std::vector<std::string> texts = {"a", "b", "a", "a", "b"};
  ExpectVectors(c.service->Embed(texts, {}), texts);
  EXPECT_EQ(c.fake->computed("a"), 1);
  EXPECT_EQ(c.fake->computed("b"), 1);
  EXPECT_EQ(c.service->stats().misses, 2u);
  EXPECT_EQ(c.service->stats().coalesced, 3u);
}

TEST(CacheTest, EveryOptionThatChangesTheVectorChangesTheKey) {
  EmbeddingModelInfo model;
  model.name = "m";
  model.revision = "r";
  const EmbedRequest plain;
  std::vector<embed::CacheKey> keys = {embed::CacheKeyMaker(model, plain).Make("t"),
                                       embed::CacheKeyMaker(model, plain).Make("t2")};
  const auto add = [&](auto change) {
    EmbedRequest request;
    EmbeddingModelInfo info = model;
    change(request, info);
    keys.push_back(embed::CacheKeyMaker(info, request).Make("t"));
  };
  add([](auto& r, auto&) { r.role = Role::kQuery; });
  add([](auto& r, auto&) { r.role = Role::kPassage; });
  add([](auto& r, auto&) { r.prompt = ""; });
  add([](auto& r, auto&) { r.prompt = "t"; });
  add([](auto& r, auto&) { r.dimensions = 4; });
  add([](auto& r, auto&) { r.pooling = Pooling::kCls; });
  add([](auto& r, auto&) { r.pooling = Pooling::kMean; });
  add([](auto& r, auto&) { r.normalize = false; });
  add([](auto& r, auto&) { r.normalize = true; });
  add([](auto& r, auto&) { r.special_as_text = true; });
  add([](auto&, auto& m) { m.revision = "r2"; });
  add([](auto&, auto& m) { m.name = "m2"; });
  add([](auto&, auto& m) { m.folder = "/elsewhere"; });
  // Fields do not run into each other.
  add([](auto&, auto& m) { m.name = "mr", m.revision = ""; });
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(keys[i] == keys[j]) << i << " " << j;
  }
  EXPECT_TRUE(keys[0] == embed::CacheKeyMaker(model, plain).Make("t"));
}

TEST(CacheTest, RolesAndRevisionsAreApart) {
  Cached c;
  const std::vector<std::string> texts = {"x"};
  EmbedRequest query;
  query.role = Role::kQuery;
  ExpectVectors(c.service->Embed(texts, {}), texts);
  ExpectVectors(c.service->Embed(texts, query), texts, Role::kQuery);
  EXPECT_EQ(c.fake->computed("x"), 2);
  c.fake->SetRevision("r2");
  ExpectVectors(c.service->Embed(texts, {}), texts);
  EXPECT_EQ(c.fake->computed("x"), 3);
}

TEST(CacheTest, StaysWithinItsBudgetAndDropsTheLeastRecentlyUsed) {
  Cached one_entry({.budget_bytes = 1u << 20, .n_shards = 1});
  const std::vector<std::string> first = {"a"};
  ExpectVectors(one_entry.service->Embed(first, {}), first);
  const std::size_t entry_bytes = one_entry.service->stats().bytes;
  ASSERT_GT(entry_bytes, 0u);

  Cached c({.budget_bytes = 3 * entry_bytes, .n_shards = 1});
  const auto embed = [&](const std::string& text) {
    const std::vector<std::string> texts = {text};
    ExpectVectors(c.service->Embed(texts, {}), texts);
  };
  for (const char* text : {"a", "b", "c", "a", "d"}) embed(text);  // b goes
  EXPECT_EQ(c.service->stats().evictions, 1u);
  EXPECT_EQ(c.service->stats().entries, 3u);
  EXPECT_LE(c.service->stats().bytes, 3 * entry_bytes);
  embed("a");
  embed("c");
  embed("d");
  EXPECT_EQ(c.fake->computed("a"), 1);
  EXPECT_EQ(c.fake->computed("c"), 1);
  EXPECT_EQ(c.fake->computed("d"), 1);
  embed("b");
  EXPECT_EQ(c.fake->computed("b"), 2);
}

TEST(CacheTest, ABudgetTooSmallForAnythingStillAnswers) {
  for (const std::size_t budget : {0u, 1u, 100u}) {
    Cached c({.budget_bytes = budget, .n_shards = 0});
    const std::vector<std::string> texts = {"a", "b", "a"};
    ExpectVectors(c.service->Embed(texts, {}), texts);
    EXPECT_EQ(c.service->stats().entries, 0u);
    EXPECT_EQ(c.service->stats().bytes, 0u);
  }
}

TEST(CacheTest, ErrorsPassAndAreNotRemembered) {
  Cached c;
  EmbedRequest absent;
  absent.model = "absent";
  const std::vector<std::string> texts = {"good", "bad"};
  EXPECT_EQ(c.service->Embed(texts, absent).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(c.service->Embed(std::vector<std::string>{"good"}, {}));
  c.fake->SetHook([](std::span<const std::string> asked) -> Status {
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (asked[i] == "bad") {
        return Error{ErrorCode::kCorruptData, "text " + std::to_string(i) + " is bad"};
      }
    }
    return Ok();
  });
  const auto failed = c.service->Embed(texts, {});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "text 1 is bad");  // The caller's number, not the sub-list's.
  c.fake->SetHook(nullptr);
  ExpectVectors(c.service->Embed(texts, {}), texts);
}

TEST(CacheTest, ACallForWhatAnotherComputesWaitsForIt) {
  Cached c;
  Gate gate;
  c.fake->SetHook([&](std::span<const std::string>) -> Status {
    gate.Pass();
    return Ok();
  });
  const std::vector<std::string> texts = {"shared"};
  std::jthread first([&] { ExpectVectors(c.service->Embed(texts, {}), texts); });
  gate.AwaitArrival();
  std::jthread second([&] { ExpectVectors(c.service->Embed(texts, {}), texts); });
  LetOthersRun();
  gate.Open();
  first.join();
  second.join();
  EXPECT_EQ(c.fake->computed("shared"), 1);
  const auto stats = c.service->stats();
  EXPECT_EQ(stats.misses, 1u);
  EXPECT_EQ(stats.hits + stats.coalesced, 1u);
}

TEST(CacheTest, AWaiterComputesByItselfWhenTheOtherFails) {
  for (const ErrorCode code : {ErrorCode::kCancelled, ErrorCode::kResourceExhausted}) {
    Cached c;
    Gate gate;
    std::atomic<bool> fail{true};
    c.fake->SetHook([&](std::span<const std::string>) -> Status {
      if (!fail.exchange(false)) return Ok();
      gate.Pass();
      return Error{code, "gave up"};
    });
    const std::vector<std::string> texts = {"shared"};
    std::jthread first([&] {
      const auto result = c.service->Embed(texts, {});
      // Only a cancelled call gives up at once; others are asked again for their message.
      if (code == ErrorCode::kCancelled) {
        EXPECT_FALSE(result);
      }
    });
    gate.AwaitArrival();
    std::jthread second([&] { ExpectVectors(c.service->Embed(texts, {}), texts); });
    LetOthersRun();
    gate.Open();
  }
}

TEST(CacheTest, AWaiterCanBeCancelled) {
  Cached c;
  Gate gate;
  c.fake->SetHook([&](std::span<const std::string>) -> Status {
    gate.Pass();
    return Ok();
  });
  const std::vector<std::string> texts = {"shared"};
  std::jthread first([&] { ExpectVectors(c.service->Embed(texts, {}), texts); });
  gate.AwaitArrival();
  std::stop_source source;
  EmbedRequest request;
  request.stop = source.get_token();
  std::jthread second([&] {
    const auto result = c.service->Embed(texts, request);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
  });
  LetOthersRun();
  source.request_stop();
  second.join();
  gate.Open();
}

TEST(CacheTest, AThrowingProgressFunctionLeavesNobodyWaiting) {
  Cached c;
  const std::vector<std::string> texts = {"a", "b"};
  EmbedRequest request;
  request.progress = [](std::size_t, std::size_t) { throw std::runtime_error("caller's bug"); };
  EXPECT_THROW((void)c.service->Embed(texts, request), std::runtime_error);
  ExpectVectors(c.service->Embed(texts, {}), texts);
}

TEST(CacheTest, ProgressCountsWhatWasThereAlready) {
  Cached c;
  ASSERT_TRUE(c.service->Embed(std::vector<std::string>{"a", "b"}, {}));
  EmbedRequest request;
  std::vector<std::pair<std::size_t, std::size_t>> calls;
  request.progress = [&](std::size_t done, std::size_t total) { calls.emplace_back(done, total); };
  ASSERT_TRUE(c.service->Embed(std::vector<std::string>{"a", "x", "b", "y"}, request));
  EXPECT_EQ(calls, (std::vector<std::pair<std::size_t, std::size_t>>{{3, 4}, {4, 4}}));
}

TEST(CacheTest, ManyThreadsAskForOverlappingTexts) {
  Cached c({.budget_bytes = 20000, .n_shards = 4});
  constexpr int kThreads = 4;
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&c, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int round = 0; round < 200; ++round) {
        std::vector<std::string> texts;
        for (int i = 0; i < 5; ++i) texts.push_back("t" + std::to_string(random() % 120));
        ExpectVectors(c.service->Embed(texts, {}), texts);
        if (round % 50 == 49) c.service->Clear();
      }
    });
  }
  threads.clear();
  const auto stats = c.service->stats();
  EXPECT_EQ(stats.hits + stats.misses + stats.coalesced, 200u * kThreads * 5);
  EXPECT_LE(stats.bytes, 20000u);
  EXPECT_GT(stats.evictions, 0u);
}

TEST(CacheTest, TheRestPassesThrough) {
  Cached c;
  EXPECT_TRUE(c.service->Unload("loaded"));
  EXPECT_FALSE(c.service->Unload("other"));
  EXPECT_EQ(c.service->Rerank(std::vector<std::string>{"d", "e"}, {})->size(), 2u);
  EXPECT_EQ(c.service->Describe("m")->name, "m");
  const auto none = c.service->Embed({}, {});
  ASSERT_TRUE(none);
  EXPECT_EQ(none->size(), 0u);
}

}  // namespace
}  // namespace lattice
