#include "apps/read_bandwidth.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

namespace lattice::apps {
namespace {

constexpr std::size_t kWords = (std::size_t{512} << 20) / sizeof(std::uint64_t);
constexpr int kPasses = 7;

/// Eight independent sums, so that the additions never wait for each other.
std::uint64_t Sum(std::span<const std::uint64_t> words) {
  std::uint64_t sums[8] = {};
  for (std::size_t i = 0; i + 8 <= words.size(); i += 8) {
    for (std::size_t j = 0; j < 8; ++j) sums[j] += words[i + j];
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t s : sums) sum += s;
  return sum;
}

}  // namespace

double MeasureReadBandwidth(ThreadPool& pool) {
  const std::vector<std::uint64_t> words(kWords, 1);
  std::atomic<std::uint64_t> total = 0;  // read below, so that no pass can be left out
  double best = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    const auto start = std::chrono::steady_clock::now();
    pool.ParallelFor(kWords, 4096, [&](std::size_t begin, std::size_t end) {
      total += Sum(std::span(words).subspan(begin, end - begin));
    });
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(kWords * sizeof(std::uint64_t)) / seconds.count());
  }
  return total.load() == kWords * kPasses ? best : 0;
}

}  // namespace lattice::apps
