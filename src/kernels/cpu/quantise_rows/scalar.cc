#include <cmath>

#include "kernels/cpu/quantise_rows/variants.h"

namespace lattice::kernels {

void QuantiseRowScalar(const float* x, std::size_t k, std::uint8_t* q, std::size_t k_padded,
                       float* scale, float* zero) {
  float low = 0, high = 0;
  for (std::size_t t = 0; t < k; ++t) {
    low = x[t] < low ? x[t] : low;
    high = x[t] > high ? x[t] : high;
  }
  const float range = high - low;
  const bool zeros = range < kQuantiseLeastRange;
  const float inverse = zeros ? 0.0f : 255.0f / range;
  *scale = zeros ? 0.0f : range / 255.0f;
  const float offset = std::nearbyint(-low * inverse);
  *zero = offset > 0 ? offset : 0.0f;  // Also for the NaN of an infinite range.
  for (std::size_t t = 0; t < k_padded; ++t) {
    float value = t < k ? std::nearbyint(x[t] * inverse) + *zero : 0.0f;
    value = value > 0 ? value : 0.0f;  // A NaN becomes 0.
    q[t] = static_cast<std::uint8_t>(value < 255.0f ? value : 255.0f);
  }
}

}  // namespace lattice::kernels
