#include "engine/kept_texts.h"

#include <gtest/gtest.h>

#include <deque>
#include <fstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/test_folder.h"
#include "engine/test_batcher.h"

namespace lattice::engine {
namespace {

/// Attention alone, and a hybrid with recurrent layers.
class KeptTextsTest : public testing::TestWithParam<const char*> {
 protected:
  KeptTextsTest() {
    options_.kept_folder = folder_.path() / "kept";
    options_.log = [this](LogLevel, std::string_view message) { heard_ += message; };
    const std::vector<TokenId> head = engine_.RandomIds(200);
    for (std::size_t i = 0; i < 6; ++i) {
      std::vector<TokenId> prompt(head.begin(), head.end() - (i % 3 == 0 ? 100 : 0));
      const std::vector<TokenId> rest = engine_.RandomIds(1 + 20 * i);
      prompt.insert(prompt.end(), rest.begin(), rest.end());
      requests_.push_back(DrawTokens(prompt, 5, told_.emplace_back(), i));
      requests_.back().boundaries = {100, 200};
      alone_.push_back(Alone(engine_, requests_.back()));
    }
  }

  /// Asks everything, expects what the single-user generator says, and tells how many tokens had
  /// been read before.
  std::size_t Ask(TestBatcher& batcher) {
    const std::size_t before = batcher.metrics().cached_tokens;
    for (Told& told : told_) told = Told();
    for (const GenerationRequest& request : requests_) batcher.Add(request);
    batcher.Finish();
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      SCOPED_TRACE("request " + std::to_string(i));
      ExpectSame(told_[i], alone_[i]);
    }
    return batcher.metrics().cached_tokens - before;
  }
  std::size_t AskAnew() {
    TestBatcher batcher(engine_, options_);
    return Ask(batcher);
  }
  /// Asks everything and ends; the figures of its last moment.
  SchedulerMetrics FillFile() {
    TestBatcher batcher(engine_, options_);
    Ask(batcher);
    batcher->SaveKept();
    return batcher.metrics();
  }

  std::filesystem::path File() const {
    std::filesystem::path file;
    for (const auto& entry : std::filesystem::directory_iterator(options_.kept_folder)) {
      EXPECT_TRUE(file.empty());
      file = entry.path();
    }
    return file;
  }
  std::string Content() const { return ReadFile(File(), std::size_t{1} << 28).value(); }
  /// What the file may have beyond the bytes of pages and states.
  static std::size_t Heads(const SchedulerMetrics& metrics) {
    return 64 + metrics.n_cached_texts * 4096;
  }

  TestFolder folder_;
  TestEngine engine_{GetParam()};
  SchedulerOptions options_;
  std::string heard_;
  std::deque<Told> told_;
  std::vector<GenerationRequest> requests_;
  std::vector<Told> alone_;
};

TEST_P(KeptTextsTest, ANewStartKnowsAsMuchAsNone) {
  std::size_t n_known = 0;
  {
    TestBatcher batcher(engine_, options_);
    Ask(batcher);
    const SchedulerMetrics metrics = batcher.metrics();
    batcher->SaveKept();
    EXPECT_LE(Content().size(), metrics.cached_bytes + Heads(metrics));
    n_known = Ask(batcher);
  }
  EXPECT_GT(n_known, 600u);
  TestBatcher batcher(engine_, options_);
  EXPECT_GT(batcher.metrics().n_cached_texts, 0u);
  EXPECT_EQ(Ask(batcher), n_known);
  EXPECT_EQ(heard_, "");
  const auto rights = std::filesystem::status(options_.kept_folder).permissions();
  EXPECT_EQ(rights, std::filesystem::perms::owner_all);
}

TEST_P(KeptTextsTest, TheBudgetHoldsTheLastOnes) {
  const SchedulerMetrics metrics = FillFile();
  options_.kept_file_bytes = metrics.cached_bytes / 2;
  FillFile();
  EXPECT_LE(Content().size(), options_.kept_file_bytes + Heads(metrics));
  EXPECT_GT(AskAnew(), 0u);
  options_.kept_file_bytes = 0;
  FillFile();
  TestBatcher batcher(engine_, options_);
  EXPECT_EQ(batcher.metrics().n_cached_texts, 0u);
  EXPECT_EQ(heard_, "");
}

TEST_P(KeptTextsTest, WhatIsDamagedIsReadAnew) {
  FillFile();
  const std::string content = Content();
  std::vector<std::string> damaged = {"", content.substr(0, content.size() / 2), content + "x"};
  for (const std::size_t at : {3ul, 9ul, 14ul, 40ul, content.size() / 2, content.size() - 1}) {
    damaged.push_back(content);
    damaged.back()[at] = static_cast<char>(damaged.back()[at] ^ 4);
  }
  for (std::size_t i = 0; i < damaged.size(); ++i) {
    SCOPED_TRACE("damage " + std::to_string(i));
    std::ofstream(File(), std::ios::binary) << damaged[i];
    heard_.clear();
    AskAnew();
    EXPECT_NE(heard_.find("not brought back"), std::string::npos) << heard_;
  }
}

TEST_P(KeptTextsTest, OthersAreRefused) {
  FillFile();
  const std::string content = Content();
  TestEngine other(GetParam() == std::string("llama") ? "qwen3_5" : "llama");
  const SchedulerOptions options = options_;
  std::filesystem::remove(File());
  {  // finds the name
    TestBatcher batcher(other, options);
    Told told;
    batcher.Add(DrawTokens({1, 2, 3}, 2, told));
    batcher.Finish();
    batcher->SaveKept();
  }
  std::ofstream(File(), std::ios::binary) << content;
  TestBatcher batcher(other, options);
  EXPECT_EQ(batcher.metrics().n_cached_texts, 0u);
  EXPECT_NE(heard_.find("made by another model"), std::string::npos) << heard_;
}

TEST_P(KeptTextsTest, MoreThanTheMemoryHoldsIsLeftOut) {
  FillFile();
  options_.max_sequences = 2;
  options_.context_tokens = 320;
  options_.memory_bytes = engine_.BytesFor(7, 2);
  AskAnew();
}

INSTANTIATE_TEST_SUITE_P(Families, KeptTextsTest, testing::Values("llama", "qwen3_5"),
                         [](const auto& suite) { return std::string(suite.param); });

}  // namespace
}  // namespace lattice::engine
