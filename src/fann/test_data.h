#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "numeric/random.h"

namespace lattice::fann {

inline std::vector<float> Values(std::size_t n, std::uint64_t seed, double size = 1) {
  Random random(seed);
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(random.Normal() * size);
  return x;
}

inline std::vector<std::uint32_t> Labels(std::size_t n, std::size_t n_classes, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint32_t> y(n);
  for (auto& v : y) v = static_cast<std::uint32_t>(random.Below(n_classes));
  return y;
}

}  // namespace lattice::fann
