#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <vector>

namespace lattice {
namespace {

TEST(ThreadPoolTest, ParallelForCoversEachIndexOnceAtGrainBorders) {
  for (std::size_t threads : {1u, 2u, 3u, 7u}) {
    ThreadPool pool(threads);
    for (std::size_t n : {0u, 1u, 5u, 64u, 1000u}) {
      for (std::size_t grain : {1u, 8u, 64u}) {
        std::vector<int> seen(n);
        pool.ParallelFor(n, grain, [&](std::size_t begin, std::size_t end) {
          EXPECT_EQ(begin % grain, 0u);
          for (std::size_t i = begin; i < end; ++i) ++seen[i];
        });
        EXPECT_EQ(seen, std::vector<int>(n, 1));
      }
    }
  }
}

TEST(ThreadPoolTest, ParallelEachCoversEachIndexOnce) {
  ThreadPool pool(3);
  std::vector<std::atomic<int>> seen(500);
  for (int round = 0; round < 200; ++round) {
    pool.ParallelEach(seen.size(), [&](std::size_t i) { ++seen[i]; });
  }
  for (const auto& count : seen) EXPECT_EQ(count, 200);
}

TEST(ThreadPoolTest, ShareCallsEachWorkerAtMostOnceAndNobodyAfterwards) {
  ThreadPool pool(4);
  for (int round = 0; round < 2000; ++round) {
    std::atomic<int> calls[4] = {};
    std::atomic<int> items{0}, done{0};
    pool.Share([&](std::size_t worker) {
      ++calls[worker];
      while (items++ < 20) ++done;
    });
    EXPECT_EQ(done, 20);
    EXPECT_EQ(calls[0], 1);
    for (const auto& count : calls) EXPECT_LE(count, 1);
  }
}

TEST(ThreadPoolTest, ShareWaitsForThoseWhoCame) {
  ThreadPool pool(2);
  std::atomic<bool> came{false}, ended{false};
  pool.Share([&](std::size_t worker) {
    if (worker == 0) {
      while (!came) std::this_thread::yield();
      return;
    }
    came = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ended = true;
  });
  EXPECT_TRUE(ended);
}

TEST(ThreadPoolTest, WakesAfterSleep) {
  ThreadPool pool(2);
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::atomic<int> calls{0};
    pool.Run([&](std::size_t) { ++calls; });
    EXPECT_EQ(calls, 2);
  }
}

TEST(ThreadPoolTest, AnExceptionReachesTheCallerAndThePoolLivesOn) {
  ThreadPool pool(2);
  for (std::size_t who : {0u, 1u}) {
    EXPECT_THROW(pool.Run([&](std::size_t worker) {
      if (worker == who) throw std::runtime_error("x");
    }),
                 std::runtime_error);
    std::atomic<int> calls{0};
    pool.Run([&](std::size_t) { ++calls; });
    EXPECT_EQ(calls, 2);
  }
}

TEST(ThreadPoolTest, SeveralCallersTakeTurns) {
  ThreadPool pool(2);
  std::atomic<int> sum{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int i = 0; i < 100; ++i) pool.Run([&](std::size_t) { ++sum; });
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(sum, 800);
}

}  // namespace
}  // namespace lattice
