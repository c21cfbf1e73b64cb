#include "embed/pooling.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lattice::embed {
namespace {

// Columns summed at a time, so that the f64 sums stay in the first cache and off the heap.
constexpr std::size_t kColumns = 128;

// Sums rows [n_skip, n) with weight 1, or i + 1; out = sum / divisor.
void SumRows(std::span<const float> rows, std::size_t hidden, std::size_t n_skip, bool weighted,
             double divisor, std::span<float> out) {
  const std::size_t n = rows.size() / hidden;
  std::array<double, kColumns> sums;
  for (std::size_t begin = 0; begin < hidden; begin += kColumns) {
    const std::size_t width = std::min(kColumns, hidden - begin);
    sums.fill(0.0);
    for (std::size_t i = n_skip; i < n; ++i) {
      const float* row = rows.data() + i * hidden + begin;
      const double weight = weighted ? static_cast<double>(i + 1) : 1.0;
      for (std::size_t c = 0; c < width; ++c) sums[c] += weight * static_cast<double>(row[c]);
    }
    for (std::size_t c = 0; c < width; ++c) out[begin + c] = static_cast<float>(sums[c] / divisor);
  }
}

// A NaN anywhere stays one.
void MaxRows(std::span<const float> rows, std::size_t hidden, std::size_t n_skip,
             std::span<float> out) {
  const std::size_t n = rows.size() / hidden;
  std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(n_skip * hidden), hidden, out.begin());
  for (std::size_t i = n_skip + 1; i < n; ++i) {
    const float* row = rows.data() + i * hidden;
    for (std::size_t c = 0; c < hidden; ++c) {
      if (row[c] > out[c] || std::isnan(row[c])) out[c] = row[c];
    }
  }
}

double SumOfSquares(std::span<const float> x) {
  double sum = 0;  // Cannot overflow: squares of f32 stay below 1.2e77.
  for (const float value : x) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum;
}

}  // namespace

void PoolRows(std::span<const float> rows, std::size_t hidden, Pooling mode, std::size_t n_skip,
              std::span<float> out) {
  const std::size_t n = rows.size() / hidden;
  if (n_skip >= n) {
    std::fill(out.begin(), out.end(), 0.0f);
    return;
  }
  const auto count = static_cast<double>(n - n_skip);
  switch (mode) {
    case Pooling::kCls:
    case Pooling::kLast:
      std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(OnlyRow(mode, n, n_skip) * hidden),
                  hidden, out.begin());
      return;
    case Pooling::kMax:
      return MaxRows(rows, hidden, n_skip, out);
    case Pooling::kMean:
      return SumRows(rows, hidden, n_skip, false, count, out);
    case Pooling::kMeanSqrtLength:
      return SumRows(rows, hidden, n_skip, false, std::sqrt(count), out);
    case Pooling::kWeightedMean: {
      const auto first = static_cast<double>(n_skip + 1);
      const double weights = (first + static_cast<double>(n)) * count / 2;
      return SumRows(rows, hidden, n_skip, true, weights, out);
    }
  }
}

std::size_t OnlyRow(Pooling mode, std::size_t n_tokens, std::size_t n_skip) {
  if (mode == Pooling::kCls) return std::min(n_skip, n_tokens - 1);
  return mode == Pooling::kLast ? n_tokens - 1 : n_tokens;
}

bool NormalizeRow(std::span<float> x) {
  const double sum = SumOfSquares(x);
  if (!std::isfinite(sum)) return false;
  const double length = std::max(std::sqrt(sum), 1e-12);
  for (float& value : x) value = static_cast<float>(static_cast<double>(value) / length);
  return true;
}

bool AllFinite(std::span<const float> x) { return std::isfinite(SumOfSquares(x)); }

}  // namespace lattice::embed
