#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "decoding/candidates.h"

namespace lattice::decoding {

/// Logits of these probabilities, shifted so that some are positive and some negative.
inline std::vector<float> LogitsOf(const std::vector<double>& probabilities) {
  std::vector<float> row;
  for (const double p : probabilities) row.push_back(static_cast<float>(std::log(p) + 2.0));
  return row;
}

inline std::vector<float> RandomRow(std::uint32_t seed, std::size_t n, float deviation = 3.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, deviation);
  std::vector<float> row(n);
  for (float& x : row) x = normal(random);
  return row;
}

/// Softmax in double precision, by the definition.
inline std::vector<double> Softmax(const std::vector<float>& row) {
  double max = -INFINITY, sum = 0;
  for (const float x : row) max = std::max(max, static_cast<double>(x));
  std::vector<double> p;
  for (const float x : row) p.push_back(std::exp(static_cast<double>(x) - max));
  for (const double x : p) sum += x;
  for (double& x : p) x /= sum;
  return p;
}

}  // namespace lattice::decoding
