#include <cmath>

#include "kernels/cpu/quantise_rows/variants.h"

namespace lattice::kernels {

void QuantiseRowScalar(const float* x, const float* factor, std::size_t k, std::uint8_t* q,
                       std::size_t k_padded, Int8Row* row) {
  float low[2] = {0, 0}, high[2] = {0, 0};  // the extreme and the next
  for (std::size_t t = 0; t < k; ++t) {
    const float v = x[t] * factor[t];
    const float less = v < low[0] ? low[0] : v, more = v > high[0] ? high[0] : v;
    low[1] = less < low[1] ? less : low[1];
    high[1] = more > high[1] ? more : high[1];
    low[0] = v < low[0] ? v : low[0];
    high[0] = v > high[0] ? v : high[0];
  }
  const bool positive = high[0] >= -low[0];
  row->outlier = positive ? high[0] : low[0];
  row->outlier_at = 0;
  for (std::size_t t = 0; t < k; ++t) {
    if (x[t] * factor[t] != row->outlier) continue;
    row->outlier_at = static_cast<std::uint32_t>(t);
    break;
  }
  const float least = positive ? low[0] : low[1];
  const float range = (positive ? high[1] : high[0]) - least;
  const bool zeros = range < kQuantiseLeastRange;
  const float inverse = zeros ? 0.0f : 255.0f / range;
  row->scale = zeros ? 0.0f : range / 255.0f;
  const float offset = std::nearbyint(-least * inverse);
  row->zero = offset > 0 ? static_cast<std::int32_t>(offset) : 0;  // 0 for a NaN
  for (std::size_t t = 0; t < k_padded; ++t) {
    const float steps = t < k ? std::nearbyint(x[t] * factor[t] * inverse) : 0.0f;
    float value = t < k ? steps + static_cast<float>(row->zero) : 0.0f;
    value = value > 0 ? value : 0.0f;  // A NaN becomes 0.
    q[t] = static_cast<std::uint8_t>(value < 255.0f ? value : 255.0f);
  }
  q[row->outlier_at] = static_cast<std::uint8_t>(row->zero);
}

}  // namespace lattice::kernels
