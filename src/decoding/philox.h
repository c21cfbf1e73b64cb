#pragma once

#include <array>
#include <cstdint>

namespace lattice::decoding {

/// Random numbers as a function: the same key and counter give the same numbers, in whatever order
/// they are asked for and whatever else runs. Philox 4x32 with 10 rounds.
///
/// Source  Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
class Philox {
 public:
  explicit Philox(std::uint64_t key) : key_(key) {}

  /// 128 random bits for (key, counter, stream).
  std::array<std::uint32_t, 4> Bits(std::uint64_t counter, std::uint64_t stream = 0) const {
    std::array<std::uint32_t, 4> x = {Low(counter), High(counter), Low(stream), High(stream)};
    std::uint32_t key0 = Low(key_), key1 = High(key_);
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t a = std::uint64_t{0xD2511F53} * x[0];
      const std::uint64_t b = std::uint64_t{0xCD9E8D57} * x[2];
      x = {High(b) ^ x[1] ^ key0, Low(b), High(a) ^ x[3] ^ key1, Low(a)};
      key0 += 0x9E3779B9;
      key1 += 0xBB67AE85;
    }
    return x;
  }

  /// Uniform in [0, 1), a multiple of 2^-53.
  static double Uniform(std::uint32_t high, std::uint32_t low) {
    return static_cast<double>((std::uint64_t{high} << 32 | low) >> 11) * 0x1p-53;
  }

 private:
  static std::uint32_t Low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
  static std::uint32_t High(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

  std::uint64_t key_;
};

}  // namespace lattice::decoding
