#include "vectors/similarity.h"

#include <algorithm>
#include <cmath>

namespace lattice::vectors {
namespace {

constexpr float kMinNorm = 1e-12f;

// Squares whose sum is in this range lost nothing to underflow or overflow that f32 would not lose
// anyway. False for NaN and for zero.
bool IsInRange(float sum_of_squares) { return sum_of_squares >= 1e-30f && sum_of_squares <= 1e37f; }

double WideDot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

}  // namespace

// The squares of f32's smallest and largest numbers, 2e-90 and 1e77, have a product in f64's range.
float WideCosine(std::span<const float> a, std::span<const float> b) {
  const double squared = WideDot(a, a) * WideDot(b, b);
  if (!std::isfinite(squared)) return NAN;
  if (squared == 0) return 0.0f;
  return static_cast<float>(std::clamp(WideDot(a, b) / std::sqrt(squared), -1.0, 1.0));
}

float Euclidean(const DotFns& fns, std::span<const float> a, std::span<const float> b) {
  const float squared = fns.squared_distance(a.data(), b.data(), a.size());
  if (IsInRange(squared)) return std::sqrt(squared);
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - b[i];
    sum += difference * difference;
  }
  return static_cast<float>(std::sqrt(sum));
}

bool Normalise(const DotFns& fns, std::span<float> x) {
  const float squared = fns.dot(x.data(), x.data(), x.size());
  if (IsInRange(squared)) {
    fns.divide(x.data(), std::sqrt(squared), x.size());
    return true;
  }
  const double norm = std::sqrt(WideDot(x, x));
  if (!std::isfinite(norm)) return false;
  const double divisor = std::max(norm, static_cast<double>(kMinNorm));
  for (float& value : x) value = static_cast<float>(value / divisor);
  return true;
}

}  // namespace lattice::vectors
