#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <limits>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "engine/test_engine.h"

namespace lattice::engine {
namespace {

using std::chrono_literals::operator""h;

auto Later() { return std::chrono::steady_clock::now() + 1h; }

class SchedulerTest : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Scheduler> Start(const SchedulerOptions& options) {
    auto started = Scheduler::Start(engine_.model, *engine_.backend, engine_.pool, options);
    if (!started) TestEngine::Die(started.error());
    return std::move(started).value();
  }

  TestEngine engine_{GetParam()};
};

TEST_P(SchedulerTest, ThreadsSubmitAndAllAreAnsweredAsAlone) {
  constexpr std::size_t kThreads = 4, kEach = 8;
  std::vector<GenerationRequest> requests;
  std::deque<Told> told;
  std::vector<Told> alone;
  for (std::size_t i = 0; i < kThreads * kEach; ++i) {
    const std::vector<TokenId> prompt = engine_.RandomIds(1 + engine_.random() % 100);
    requests.push_back(DrawTokens(prompt, 1 + engine_.random() % 12, told.emplace_back(), i));
    alone.push_back(Alone(engine_, requests.back()));
  }
  SchedulerOptions options;
  options.max_sequences = 8;
  const auto scheduler = Start(options);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = 0; i < kEach; ++i) {
          EXPECT_FALSE(scheduler->Submit(requests[t * kEach + i]));
          const SchedulerMetrics now = scheduler->metrics();
          EXPECT_LE(now.n_reading + now.n_answering, 8u);
        }
      });
    }
  }
  EXPECT_TRUE(scheduler->Drain(Later()));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(told[i].n_ends, 1);
    ExpectSame(told[i], alone[i]);
  }
  const SchedulerMetrics metrics = scheduler->metrics();
  EXPECT_EQ(metrics.n_accepted, 32u);
  EXPECT_EQ(metrics.n_finished, 32u);
  EXPECT_EQ(metrics.n_waiting + metrics.n_reading + metrics.n_answering, 0u);
}

TEST_P(SchedulerTest, RefusesWhatItCannotTake) {
  SchedulerOptions options;
  options.max_sequences = 1;
  options.max_waiting = 2;
  options.context_tokens = 50;
  const auto scheduler = Start(options);
  EXPECT_EQ(scheduler->context_tokens(), 50u);
  Told told;
  const auto reason = [&](GenerationRequest request) {
    const auto refusal = scheduler->Submit(std::move(request));
    EXPECT_TRUE(refusal);
    return refusal ? refusal->reason : Refusal::Reason::kStopping;
  };
  EXPECT_EQ(reason(DrawTokens(engine_.RandomIds(51), 1, told)), Refusal::Reason::kTooLong);
  EXPECT_EQ(reason(DrawTokens({}, 1, told)), Refusal::Reason::kInvalid);
  EXPECT_EQ(reason(DrawTokens({-1}, 1, told)), Refusal::Reason::kInvalid);
  EXPECT_EQ(reason(DrawTokens({1 << 30}, 1, told)), Refusal::Reason::kInvalid);
  GenerationRequest request = DrawTokens({1}, 1, told);
  request.options.sampling.temperature = -1;
  EXPECT_EQ(reason(request), Refusal::Reason::kInvalid);
  request.options.sampling.temperature = 1;
  request.options.stop_strings = {""};
  EXPECT_EQ(reason(request), Refusal::Reason::kInvalid);

  // The first one holds the engine in its first token until the queue has been seen.
  std::promise<void> full;
  request = DrawTokens({1}, 1, told);
  request.on_token = [&](const GeneratedToken&) { full.get_future().wait(); };
  EXPECT_FALSE(scheduler->Submit(request));
  Told waiting;
  EXPECT_FALSE(scheduler->Submit(DrawTokens({1}, 1, waiting)));
  EXPECT_FALSE(scheduler->Submit(DrawTokens({1}, 1, waiting)));
  EXPECT_EQ(scheduler->metrics().n_accepted, 3u);
  EXPECT_EQ(reason(DrawTokens({1}, 1, told)), Refusal::Reason::kQueueFull);
  full.set_value();
  EXPECT_TRUE(scheduler->Drain(Later()));
  EXPECT_EQ(waiting.n_ends, 2);
  EXPECT_EQ(reason(DrawTokens({1}, 1, told)), Refusal::Reason::kStopping);
  EXPECT_EQ(scheduler->metrics().n_refused, 8u);
}

TEST_P(SchedulerTest, StopEndsEveryoneOnce) {
  SchedulerOptions options;
  options.max_sequences = 3;
  const auto scheduler = Start(options);
  std::deque<Told> told;
  std::promise<void> begun;
  for (std::size_t i = 0; i < 10; ++i) {
    GenerationRequest request = DrawTokens(engine_.RandomIds(50), 0, told.emplace_back());
    if (i == 0) {
      request.on_token = [&, n = 0](const GeneratedToken&) mutable {
        if (++n == 3) begun.set_value();
      };
    }
    EXPECT_FALSE(scheduler->Submit(std::move(request)));
  }
  begun.get_future().wait();
  EXPECT_FALSE(scheduler->Drain(std::chrono::steady_clock::now()));
  scheduler->Stop();
  scheduler->Stop();
  for (const Told& one : told) {
    ASSERT_EQ(one.n_ends, 1);
    EXPECT_EQ(one.end->finish, FinishReason::kCancelled);
  }
  EXPECT_EQ(scheduler->metrics().n_cancelled, 10u);
}

TEST_P(SchedulerTest, CancelsFromOtherThreads) {
  SchedulerOptions options;
  options.max_sequences = 6;
  options.max_waiting = 100;
  options.chunk_alone = options.chunk_beside_answers = 16;
  const auto scheduler = Start(options);
  std::deque<Told> told;
  std::vector<std::stop_source> stops(60);
  for (const std::stop_source& stop : stops) {
    GenerationRequest request = DrawTokens(engine_.RandomIds(80), 0, told.emplace_back());
    request.options.stop = stop.get_token();
    EXPECT_FALSE(scheduler->Submit(std::move(request)));
  }
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = t; i < stops.size(); i += 3) {
          std::this_thread::sleep_for(std::chrono::microseconds(200 * (i % 5)));
          stops[i].request_stop();
        }
      });
    }
  }
  EXPECT_TRUE(scheduler->Drain(Later()));
  const SchedulerMetrics metrics = scheduler->metrics();
  EXPECT_EQ(metrics.n_cancelled, 60u);
  EXPECT_EQ(metrics.used_bytes, metrics.cached_bytes);
  for (const Told& one : told) EXPECT_EQ(one.n_ends, 1);
}

/// Leaves no token at the n-th step.
class FailingMask : public decoding::LogitMask {
 public:
  explicit FailingMask(int n) : left_(n) {}
  Status Fill(std::span<std::uint64_t> allowed) override {
    if (--left_ == 0) std::ranges::fill(allowed, std::uint64_t{0});
    return Ok();
  }
  Status Accept(TokenId) override { return Ok(); }

 private:
  int left_;
};

TEST_P(SchedulerTest, OneFailureIsNobodyElses) {
  const auto scheduler = Start({});
  Told fails, goes_on, own;
  const std::vector<TokenId> prompt = engine_.RandomIds(30);
  GenerationRequest request = DrawTokens(engine_.RandomIds(30), 20, fails);
  request.options.mask = std::make_shared<FailingMask>(5);
  EXPECT_FALSE(scheduler->Submit(request));
  EXPECT_FALSE(scheduler->Submit(DrawTokens(prompt, 20, goes_on)));
  EXPECT_TRUE(scheduler->Drain(Later()));
  ASSERT_TRUE(fails.end && fails.end->error);
  EXPECT_EQ(fails.ids.size(), 4u);
  ExpectSame(goes_on, Alone(engine_, DrawTokens(prompt, 20, own)));
  EXPECT_EQ(scheduler->metrics().n_failed, 1u);
}

TEST_P(SchedulerTest, AnEndMaySubmitTheNext) {
  const auto scheduler = Start({});
  std::atomic<int> n_done = 0;
  std::promise<void> all;
  std::function<void(const GenerationEnd&)> next = [&](const GenerationEnd&) {
    if (++n_done == 5) return all.set_value();
    GenerationRequest request;
    request.prompt = {1, 2, 3};
    request.options.max_tokens = 2;
    request.on_end = next;
    EXPECT_FALSE(scheduler->Submit(std::move(request)));
  };
  next({});
  all.get_future().wait();
  EXPECT_TRUE(scheduler->Drain(Later()));
  EXPECT_EQ(scheduler->metrics().n_finished, 4u);
}

TEST_P(SchedulerTest, WhoeverIsToldOfAnEndFindsItInTheFigures) {
  SchedulerOptions options;
  options.max_sequences = 1;
  options.max_waiting = 0;
  const auto scheduler = Start(options);
  for (std::size_t i = 1; i <= 3; ++i) {
    std::promise<SchedulerMetrics> seen;
    Told told;
    GenerationRequest request = DrawTokens({1, 2, 3}, 2, told);
    request.on_end = [&](const GenerationEnd&) { seen.set_value(scheduler->metrics()); };
    EXPECT_FALSE(scheduler->Submit(std::move(request))) << i;  // the only place is free again
    const SchedulerMetrics metrics = seen.get_future().get();
    EXPECT_EQ(metrics.n_finished, i);
    EXPECT_EQ(metrics.generated_tokens, 2 * i);
    EXPECT_EQ(metrics.n_answering, 0u);
  }
}

TEST_P(SchedulerTest, RefusesToStartWithoutMeans) {
  const auto code = [&](const SchedulerOptions& options) {
    const auto started = Scheduler::Start(engine_.model, *engine_.backend, engine_.pool, options);
    return started ? ErrorCode::kInternal : started.error().code;
  };
  SchedulerOptions options;
  options.memory_bytes = engine_.BytesFor(1, 16) - 1;
  EXPECT_EQ(code(options), ErrorCode::kResourceExhausted);
  options = {};
  options.max_sequences = 0;
  EXPECT_EQ(code(options), ErrorCode::kInvalidArgument);
  options = {};
  options.chunk_alone = 0;
  EXPECT_EQ(code(options), ErrorCode::kInvalidArgument);
  options = {};
  options.max_sequences = std::numeric_limits<std::size_t>::max();
  if (!engine_.is_recurrent()) return;
  EXPECT_EQ(code(options), ErrorCode::kResourceExhausted);
}

INSTANTIATE_TEST_SUITE_P(Families, SchedulerTest, testing::Values("llama", "qwen3_5"),
                         [](const auto& suite) { return std::string(suite.param); });

}  // namespace
}  // namespace lattice::engine
