#include "embed/service.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "base/test_folder.h"
#include "embed/test_fakes.h"

namespace lattice::embed {
namespace {

const std::filesystem::path kFixtures = LATTICE_FIXTURES;

// A service over the tiny models; any name is a folder of the fixtures, "bert2" is bert again.
struct TinyService {
  explicit TinyService(ModelResolver resolver = {}) : engine(2) {
    if (!resolver) resolver = [this](std::string_view name) { return Resolve(name); };
    service = MakeNativeService(engine.engine, std::move(resolver), "bert");
  }
  Result<ModelSource> Resolve(std::string_view name) {
    ++n_resolved;
    if (name == "absent") return Error{ErrorCode::kNotFound, "no model 'absent'"};
    const std::string folder = name == "bert2" ? "bert" : std::string(name);
    return ModelSource{std::string(name), kFixtures / folder, "", ""};
  }
  TestEngine engine;
  std::atomic<int> n_resolved{0};
  std::unique_ptr<EmbeddingService> service;
};

EmbedRequest For(std::string model) {
  EmbedRequest request;
  request.model = std::move(model);
  return request;
}

const std::vector<std::string> kTexts = {"Hello, world!", "a"};

TEST(ServiceTest, LoadsOnFirstUseAndOnlyOnce) {
  TinyService tiny;
  const auto first = tiny.service->EmbedOne("Hello, world!");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->size(), 48u);
  const auto again = tiny.service->Embed(kTexts, For("bert"));
  ASSERT_TRUE(again);
  EXPECT_TRUE(std::equal(first->begin(), first->end(), (*again)[0].begin()));
  EXPECT_EQ(tiny.n_resolved, 1);
  EXPECT_EQ(tiny.service->Describe("")->name, "bert");
}

TEST(ServiceTest, SeveralModelsAtOnce) {
  TinyService tiny;
  EXPECT_EQ(tiny.service->Embed(kTexts, For("bert"))->dimensions, 48u);
  EXPECT_EQ(tiny.service->Embed(kTexts, For("qwen3_embedding"))->dimensions, 64u);
  EXPECT_EQ(tiny.service->Describe("modernbert")->architecture, "modernbert");
  RerankRequest request;
  request.model = "bert_reranker";
  request.query = "q";
  EXPECT_EQ(tiny.service->Rerank(kTexts, request)->size(), 2u);
  request.model = "bert";
  EXPECT_EQ(tiny.service->Rerank(kTexts, request).error().code, ErrorCode::kUnsupported);
}

TEST(ServiceTest, UnloadFreesAllNamesOfAModel) {
  TinyService tiny;
  EXPECT_FALSE(tiny.service->Unload("bert"));
  ASSERT_TRUE(tiny.service->Describe("bert"));
  ASSERT_TRUE(tiny.service->Describe("bert2"));  // The same folder: loaded once.
  EXPECT_TRUE(tiny.service->Unload("bert2"));
  EXPECT_FALSE(tiny.service->Unload("bert"));
  EXPECT_TRUE(tiny.service->Describe("bert"));
  EXPECT_TRUE(tiny.service->Unload(""));  // the default model
}

TEST(ServiceTest, AFailedLoadIsTriedAgain) {
  const TestFolder folder;
  TinyService tiny([&](std::string_view name) -> Result<ModelSource> {
    return ModelSource{std::string(name), folder.path() / "m", "", ""};
  });
  const auto missing = tiny.service->Embed(kTexts, {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  std::filesystem::create_directory(folder.path() / "m");
  EXPECT_EQ(tiny.service->Embed(kTexts, {}).error().code, ErrorCode::kNotFound);  // no config.json
  folder.Write("m/config.json", "{");
  EXPECT_EQ(tiny.service->Embed(kTexts, {}).error().code, ErrorCode::kCorruptData);
  std::filesystem::remove(folder.path() / "m/config.json");
  std::filesystem::copy(kFixtures / "bert", folder.path() / "m");
  const auto loaded = tiny.service->Embed(kTexts, {});
  EXPECT_TRUE(loaded) << loaded.error().message;
}

TEST(ServiceTest, AnUnknownModelIsNotFound) {
  TinyService tiny;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(tiny.service->Describe("absent").error().code, ErrorCode::kNotFound);
  }
  EXPECT_EQ(tiny.n_resolved, 2);
  EXPECT_FALSE(tiny.service->Unload("absent"));
  const TestFolder folder;
  folder.Write("model.gguf", "x");
  TinyService file([&](std::string_view name) -> Result<ModelSource> {
    return ModelSource{std::string(name), folder.path() / "model.gguf", "", ""};
  });
  EXPECT_EQ(file.service->Describe("x").error().code, ErrorCode::kUnsupported);
}

TEST(ServiceTest, ALoadThatTakesLongBlocksNoOtherModel) {
  std::latch entered(1), leave(1);
  std::atomic<int> n_slow{0};
  TinyService tiny([&](std::string_view name) -> Result<ModelSource> {
    if (name == "slow") {
      ++n_slow;
      entered.count_down();
      leave.wait();
    }
    return ModelSource{std::string(name), kFixtures / (name == "slow" ? "bert" : "xlm_roberta"), "",
                       ""};
  });
  std::vector<std::jthread> slow;
  for (int i = 0; i < 3; ++i) {
    slow.emplace_back([&] { EXPECT_TRUE(tiny.service->Embed(kTexts, For("slow"))); });
  }
  entered.wait();
  EXPECT_TRUE(tiny.service->Embed(kTexts, For("fast")));
  EXPECT_FALSE(tiny.service->Unload("slow"));  // Not loaded yet; does not wait for it either.
  EXPECT_TRUE(tiny.service->Unload("fast"));
  leave.count_down();
  slow.clear();
  EXPECT_EQ(n_slow, 1);
}

TEST(ServiceTest, ManyThreadsEmbedWhileAnotherUnloads) {
  TinyService tiny;
  const auto want = tiny.service->Embed(kTexts, {});
  ASSERT_TRUE(want);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const auto got = tiny.service->Embed(kTexts, {});
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_EQ(got->values, want->values);
      }
    });
  }
  for (int i = 0; i < 5; ++i) tiny.service->Unload("bert");
}

TEST(ServiceTest, TheCacheGivesTheSameBits) {
  TinyService plain, wrapped;
  const auto cached = MakeCachedEmbeddingService(std::move(wrapped.service), {});
  const std::vector<std::string> texts = {"x", "Hello, world!", "x", "", "東京タワー"};
  EmbedRequest request;
  request.role = Role::kQuery;
  request.dimensions = 16;
  request.normalize = true;
  const auto want = plain.service->Embed(texts, request);
  ASSERT_TRUE(want);
  for (int round = 0; round < 2; ++round) {
    const auto got = cached->Embed(texts, request);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->values, want->values);
    EXPECT_EQ(got->dimensions, 16u);
  }
  EXPECT_EQ(cached->stats().misses, 4u);
  EXPECT_EQ(cached->stats().hits, 4u);
  EXPECT_TRUE(cached->Unload("bert"));
  EXPECT_EQ(cached->Embed(texts, request)->values, want->values);
  EXPECT_EQ(cached->stats().misses, 4u);  // Loaded anew from the same files.
  request.dimensions = 49;
  EXPECT_EQ(cached->Embed(texts, request).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace lattice::embed
