#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace lattice {

/// A stream of random numbers from a seed, the same on every machine. Small: a new one for each
/// item that must not depend on the others. Source: Steele et al. 2014, "Fast splittable
/// pseudorandom number generators" (splitmix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  /// Stream number `stream` of a seed.
  Random(std::uint64_t seed, std::uint64_t stream) : state_(seed) {
    state_ = Next() + stream * 0xD1342543DE82EF95u;
    state_ = Next();
  }

  std::uint64_t state() const { return state_; }
  void set_state(std::uint64_t state) { state_ = state; }

  std::uint64_t Next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// In [0, 1), of 53 bits.
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  /// In 0..n-1; 0 < n < 2^32. Biased by less than n / 2^64.
  std::size_t Below(std::size_t n) { return static_cast<std::size_t>(Next() % n); }
  /// Standard normal (Box and Muller; one of the pair).
  double Normal() {
    const double radius = std::sqrt(-2 * std::log(1 - Uniform()));
    return radius * std::cos(6.283185307179586 * Uniform());
  }
  template <typename T>
  void Shuffle(std::span<T> x) {
    for (std::size_t i = x.size(); i > 1; --i) std::swap(x[i - 1], x[Below(i)]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace lattice
