#include "engine/batcher.h"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <stop_token>
#include <string>
#include <vector>

#include "decoding/grammar_cache.h"
#include "decoding/grammar_mask.h"
#include "engine/test_batcher.h"

namespace lattice::engine {
namespace {

/// Attention alone, a hybrid with recurrent layers, sliding windows, shared keys and values.
class BatcherTest : public testing::TestWithParam<const char*> {
 protected:
  /// Requests of many lengths; every other prompt begins like the first one.
  void MakeRequests(std::size_t n) {
    const std::vector<TokenId> head = engine_.RandomIds(90);
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<TokenId> prompt;
      if (i % 2 == 0) prompt = head;
      const std::vector<TokenId> rest = engine_.RandomIds(1 + engine_.random() % 80);
      prompt.insert(prompt.end(), rest.begin(), rest.end());
      requests_.push_back(DrawTokens(prompt, 1 + engine_.random() % 16, told_.emplace_back(), i));
      alone_.push_back(Alone(engine_, requests_.back()));
    }
  }

  SchedulerMetrics ExpectSameWith(const SchedulerOptions& options) {
    TestBatcher batcher(engine_, options);
    for (Told& told : told_) told = Told();
    for (const GenerationRequest& request : requests_) batcher.Add(request);
    batcher.Finish();
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      SCOPED_TRACE("request " + std::to_string(i));
      EXPECT_EQ(told_[i].n_ends, 1);
      ExpectSame(told_[i], alone_[i]);
    }
    return batcher.metrics();
  }

  TestEngine engine_{GetParam()};
  std::deque<Told> told_;
  std::vector<GenerationRequest> requests_;
  std::vector<Told> alone_;
};

TEST_P(BatcherTest, ManyAnswerLikeEachAlone) {
  MakeRequests(32);
  SchedulerOptions options;
  options.cache_bytes = 0;
  for (const std::size_t chunk : {5u, 33u, 512u}) {
    SCOPED_TRACE("chunk " + std::to_string(chunk));
    options.max_sequences = chunk == 5 ? 6 : 32;
    options.chunk_alone = options.chunk_beside_answers = chunk;
    const SchedulerMetrics metrics = ExpectSameWith(options);
    EXPECT_EQ(metrics.n_finished, 32u);
    EXPECT_EQ(metrics.cached_tokens, 0u);
    EXPECT_EQ(metrics.used_bytes, 0u);
  }
}

TEST_P(BatcherTest, KeptBeginningsChangeNothing) {
  MakeRequests(24);
  for (std::size_t i = 0; i < 24; i += 2) requests_[i].boundaries = {90, 17, 5000};
  SchedulerOptions options;
  options.max_sequences = 6;
  for (const std::size_t chunk : {9u, 64u}) {
    SCOPED_TRACE("chunk " + std::to_string(chunk));
    options.chunk_alone = options.chunk_beside_answers = chunk;
    const SchedulerMetrics metrics = ExpectSameWith(options);
    EXPECT_GE(metrics.n_cache_hits, 11u);
    EXPECT_GE(metrics.cached_tokens, 11u * 90);
    EXPECT_EQ(metrics.used_bytes, metrics.cached_bytes);
    EXPECT_LE(metrics.used_bytes, metrics.memory_bytes);
  }
}

TEST_P(BatcherTest, WhoGivesUpItsMemoryAnswersTheSame) {
  MakeRequests(12);
  for (const bool keeps : {false, true}) {
    SchedulerOptions options;
    options.max_sequences = 8;
    options.memory_bytes = engine_.BytesFor(9, 8);
    options.cache_bytes = keeps ? options.memory_bytes : 0;
    options.context_tokens = 400;
    const SchedulerMetrics metrics = ExpectSameWith(options);
    EXPECT_LE(metrics.used_bytes, metrics.memory_bytes);
  }
  // Long answers of short prompts outgrow what there is.
  SchedulerOptions options;
  options.max_sequences = 8;
  options.memory_bytes = engine_.BytesFor(17, 8);
  options.cache_bytes = 0;
  requests_.clear();
  told_.clear();
  alone_.clear();
  for (std::size_t i = 0; i < 8; ++i) {
    requests_.push_back(DrawTokens(engine_.RandomIds(60), 150, told_.emplace_back(), i));
    alone_.push_back(Alone(engine_, requests_.back()));
  }
  EXPECT_GT(ExpectSameWith(options).n_put_off, 0u);
}

// Without log-probabilities, tokens that a grammar makes certain are read together.
TEST_P(BatcherTest, CertainTokensTakeNoPassAndChangeNothing) {
  decoding::GrammarCache grammars(engine_.model.tokenizer, engine_.model.n_tokens());
  const decoding::GrammarText form{
      decoding::GrammarKind::kRegex,
      R"x(\{"first name": "[a-z]{1,5}", "counted": [1-9], "kind": "(alpha beta|gamma)"\})x"};
  const auto hold = [&](GenerationRequest& request) {
    request.options.mask = std::make_shared<decoding::GrammarMask>(
        *grammars.Get(form), engine_.model.tokenizer, std::vector<TokenId>());
  };
  const auto expect = [](const Told& told, const Told& drawn) {
    Told expected = drawn;
    expected.log_probabilities.clear();
    ExpectSame(told, expected);
    EXPECT_EQ(drawn.end->usage.n_forced, 0u);
    EXPECT_GT(told.end->usage.n_forced, told.ids.size() / 3);
  };
  for (std::size_t i = 0; i < 8; ++i) {
    GenerationRequest request =
        DrawTokens(engine_.RandomIds(20 + 13 * i), i < 6 ? 200 : 20, told_.emplace_back(), i);
    if (i % 2 == 0) request.options.sampling.mirostat_tau = 3;
    hold(request);
    alone_.push_back(Alone(engine_, request));
    hold(request);
    request.options.n_top_log_probabilities.reset();
    expect(Alone(engine_, request), alone_.back());
    requests_.push_back(std::move(request));
  }
  for (const bool is_scarce : {false, true}) {
    SchedulerOptions options;
    options.max_sequences = 4;
    options.memory_bytes = engine_.BytesFor(is_scarce ? 9 : 64, 4);
    options.context_tokens = 400;
    TestBatcher batcher(engine_, options);
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      told_[i] = Told();
      hold(requests_[i]);
      batcher.Add(requests_[i]);
    }
    batcher.Finish();
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      SCOPED_TRACE("request " + std::to_string(i));
      expect(told_[i], alone_[i]);
    }
    EXPECT_GT(batcher.metrics().forced_tokens, batcher.metrics().generated_tokens / 3);
  }
}

TEST_P(BatcherTest, PromptsAreJudgedAsIfTheyHadBeenDrawn) {
  MakeRequests(6);
  // What was said of each token when it was drawn is said again when it is part of a prompt.
  SchedulerOptions options;
  options.chunk_alone = options.chunk_beside_answers = 40;
  options.max_sequences = 3;
  for (const bool is_scarce : {false, true}) {
    options.memory_bytes = engine_.BytesFor(is_scarce ? 5 : 64, 3);
    TestBatcher batcher(engine_, options);
    batcher.Add(requests_[0]);  // keeps a beginning that some of the others have
    batcher.Finish();
    std::deque<std::vector<float>> judged(requests_.size());
    std::deque<Told> told(requests_.size());
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      std::vector<TokenId> prompt = requests_[i].prompt;
      prompt.insert(prompt.end(), alone_[i].ids.begin(), alone_[i].ids.end());
      GenerationRequest request = DrawTokens(prompt, 2, told[i]);
      request.on_prompt_token = [&judged, i](const decoding::LogProbabilities& said) {
        judged[i].push_back(said.chosen.log_probability);
        for (const auto& top : said.top) judged[i].push_back(top.log_probability);
      };
      batcher.Add(std::move(request));
    }
    batcher.Finish();
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      SCOPED_TRACE("request " + std::to_string(i));
      const auto& drawn = alone_[i].log_probabilities;
      EXPECT_EQ(judged[i].size(), 3 * (requests_[i].prompt.size() + alone_[i].ids.size() - 1));
      ASSERT_GE(judged[i].size(), drawn.size());
      EXPECT_EQ(std::vector<float>(judged[i].end() - static_cast<std::ptrdiff_t>(drawn.size()),
                                   judged[i].end()),
                drawn);
      EXPECT_EQ(told[i].ids.size(), 2u);
      EXPECT_EQ(told[i].end->usage.n_cached, 0u);
    }
  }
}

TEST_P(BatcherTest, NobodyWaitsLongerThanOneChunk) {
  SchedulerOptions options;
  options.chunk_beside_answers = 16;
  options.cache_bytes = 0;
  TestBatcher batcher(engine_, options);
  Told answering, long_one, short_one;
  batcher.Add(DrawTokens(engine_.RandomIds(5), 60, answering));
  batcher.Step();
  ASSERT_EQ(answering.ids.size(), 1u);
  batcher.Add(DrawTokens(engine_.RandomIds(320), 1, long_one));
  batcher.Add(DrawTokens(engine_.RandomIds(40), 1, short_one));
  // 16 rows a step in turn: the short one has read its 40 in 5 or 6 steps, not after the long one.
  for (std::size_t step = 1; step <= 24; ++step) {
    batcher.Step();
    EXPECT_EQ(answering.ids.size(), 1 + step);
    EXPECT_EQ(short_one.n_ends, step < 6 ? 0 : 1) << step;
    EXPECT_EQ(long_one.n_ends, step < 23 ? 0 : 1) << step;  // 320 rows and 3 turns of the other
  }
}

TEST_P(BatcherTest, TheLastTokenOfAPromptWaitsForNoTurn) {
  SchedulerOptions options;
  options.chunk_alone = options.chunk_beside_answers = 31;
  TestBatcher batcher(engine_, options);
  Told told, other;
  batcher.Add(DrawTokens(engine_.RandomIds(32), 1, told));
  batcher.Add(DrawTokens(engine_.RandomIds(200), 1, other));
  batcher.Step();
  batcher.Step();
  EXPECT_EQ(told.n_ends, 1);
}

TEST_P(BatcherTest, OneLongPromptIsReadOnceForAll) {
  SchedulerOptions options;
  options.chunk_alone = 64;
  TestBatcher batcher(engine_, options);
  const std::vector<TokenId> prompt = engine_.RandomIds(300);
  Told told[4];
  for (std::size_t i = 0; i < 4; ++i) batcher.Add(DrawTokens(prompt, 8, told[i], i));
  batcher.Finish();
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(told[i].end->usage.n_cached, i == 0 ? 0u : 299u);
    Told own;
    ExpectSame(told[i], Alone(engine_, DrawTokens(prompt, 8, own, i)));
  }
}

TEST_P(BatcherTest, TheNextTurnReadsOnlyWhatIsNew) {
  TestBatcher batcher(engine_, {});
  std::vector<TokenId> history = engine_.RandomIds(100);
  std::size_t n_read = 0;
  for (int turn = 0; turn < 4; ++turn) {
    Told told, own;
    batcher.Add(DrawTokens(history, 10, told));
    batcher.Finish();
    EXPECT_EQ(told.end->usage.n_cached, n_read);
    ExpectSame(told, Alone(engine_, DrawTokens(history, 10, own)));
    history.insert(history.end(), told.ids.begin(), told.ids.end());
    n_read = history.size() - 1;  // the last token was told, not read
    const std::vector<TokenId> question = engine_.RandomIds(20);
    history.insert(history.end(), question.begin(), question.end());
  }
}

TEST_P(BatcherTest, KeptTextsStayWithinTheirBytes) {
  SchedulerOptions options;
  options.max_sequences = 2;
  options.memory_bytes = engine_.BytesFor(40, 2 + 8);
  options.cache_bytes = engine_.BytesFor(8, 4);
  TestBatcher batcher(engine_, options);
  const std::vector<TokenId> first = engine_.RandomIds(70);
  std::vector<std::size_t> cached;
  for (int i = 0; i < 12; ++i) {
    Told told;
    batcher.Add(DrawTokens(first, 2, told));
    batcher.Finish();
    cached.push_back(told.end->usage.n_cached);
    batcher.Add(DrawTokens(engine_.RandomIds(70), 2, told));  // used once
    batcher.Finish();
    EXPECT_LE(batcher.metrics().cached_bytes, options.cache_bytes);
    EXPECT_EQ(batcher.metrics().used_bytes, batcher.metrics().cached_bytes);
  }
  EXPECT_EQ(cached, std::vector<std::size_t>({0, 69, 69, 69, 69, 69, 69, 69, 69, 69, 69, 69}));
  batcher->ClearKept();
  EXPECT_EQ(batcher.metrics().used_bytes, 0u);
  EXPECT_EQ(batcher.metrics().n_cached_texts, 0u);
}

TEST_P(BatcherTest, EndsAtDeadlinesWhereverTheyAre) {
  SchedulerOptions options;
  options.max_sequences = 1;
  options.chunk_alone = 16;
  TestBatcher batcher(engine_, options);
  const auto now = std::chrono::steady_clock::now();
  Told in_prompt, waiting, after;
  GenerationRequest request = DrawTokens(engine_.RandomIds(200), 5, in_prompt);
  request.deadline = now + std::chrono::milliseconds(300);
  batcher.Add(request);
  batcher.Step();
  request = DrawTokens(engine_.RandomIds(20), 5, waiting);
  request.deadline = now;
  batcher.Add(request);
  batcher.Add(DrawTokens(engine_.RandomIds(20), 5, after));
  batcher.Step();
  ASSERT_TRUE(waiting.end);
  EXPECT_EQ(waiting.end->finish, FinishReason::kDeadline);
  EXPECT_EQ(waiting.end->usage.n_generated, 0u);
  while (std::chrono::steady_clock::now() < now + std::chrono::milliseconds(300)) {
  }
  batcher.Step();
  ASSERT_TRUE(in_prompt.end);
  EXPECT_EQ(in_prompt.end->finish, FinishReason::kDeadline);
  batcher.Finish();
  EXPECT_EQ(after.end->finish, FinishReason::kLength);
}

TEST_P(BatcherTest, AStormOfCancellationsLeavesNothing) {
  for (const bool keeps : {false, true}) {
    SchedulerOptions options;
    options.max_sequences = 8;
    options.chunk_alone = options.chunk_beside_answers = 24;
    options.memory_bytes = engine_.BytesFor(20, 8);
    options.cache_bytes = keeps ? options.memory_bytes : 0;
    TestBatcher batcher(engine_, options);
    const std::vector<TokenId> head = engine_.RandomIds(50);
    std::deque<Told> told;
    std::vector<std::stop_source> stops(100);
    for (const std::stop_source& stop : stops) {
      std::vector<TokenId> prompt = head;
      const std::vector<TokenId> rest = engine_.RandomIds(engine_.random() % 150);
      prompt.insert(prompt.end(), rest.begin(), rest.end());
      GenerationRequest request = DrawTokens(prompt, 1000, told.emplace_back());
      request.options.stop = stop.get_token();
      batcher.Add(request);
    }
    std::vector<std::size_t> left(stops.size());
    for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
    while (!left.empty()) {
      // One of those that have waited longest, mostly; its place is free after the next step.
      const std::size_t at = engine_.random() % std::min<std::size_t>(left.size(), 12);
      const std::size_t i = left[at];
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
      stops[i].request_stop();
      batcher.Step();
      EXPECT_EQ(told[i].n_ends, 1);
      EXPECT_EQ(told[i].end->finish, FinishReason::kCancelled);
      for (std::size_t n = engine_.random() % 4; n > 0; --n) batcher.Step();
    }
    EXPECT_TRUE(batcher->is_idle());
    const SchedulerMetrics metrics = batcher.metrics();
    EXPECT_EQ(metrics.n_cancelled, 100u);
    EXPECT_EQ(metrics.n_reading + metrics.n_answering + metrics.n_waiting, 0u);
    EXPECT_EQ(metrics.used_bytes, metrics.cached_bytes);
    batcher->ClearKept();
    EXPECT_EQ(batcher.metrics().used_bytes, 0u);
  }
}

TEST_P(BatcherTest, AnswersEndWhereTheContextEnds) {
  SchedulerOptions options;
  options.context_tokens = 40;
  TestBatcher batcher(engine_, options);
  Told told, whole;
  const std::vector<TokenId> prompt = engine_.RandomIds(37);
  batcher.Add(DrawTokens(prompt, 0, told));
  batcher.Add(DrawTokens(engine_.RandomIds(40), 9, whole));
  batcher.Finish();
  EXPECT_EQ(told.end->finish, FinishReason::kContext);
  EXPECT_EQ(told.ids.size(), 4u);  // the last one is told, not read
  EXPECT_EQ(whole.end->finish, FinishReason::kContext);
  EXPECT_EQ(whole.ids.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Families, BatcherTest,
                         testing::Values("llama", "qwen3_5", "gemma3", "gemma4"),
                         [](const auto& suite) { return std::string(suite.param); });

}  // namespace
}  // namespace lattice::engine
