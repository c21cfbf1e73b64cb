#include "kernels/cpu/linear/pack.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cpu/gemm_bf16/gemm_bf16.h"
#include "kernels/cpu/gemm_f32/gemm_f32.h"
#include "kernels/cpu/gemm_int8/gemm_int8.h"
#include "lattice/check.h"
#include "numeric/float16.h"

namespace lattice::kernels {
namespace {

// Inputs that are transposed at a time: 32 rows of 64 floats are 8 KiB and stay in L1.
constexpr std::size_t kChunk = 64;

void PackF32Panel(const StackedRows& weights, std::size_t panel, float* out) {
  const std::size_t first = panel * kF32PanelOutputs;
  const std::size_t n = std::min(kF32PanelOutputs, weights.outputs() - first);
  std::array<std::array<float, kChunk>, kF32PanelOutputs> rows{};
  for (std::size_t begin = 0; begin < weights.inputs(); begin += kChunk) {
    const std::size_t size = std::min(kChunk, weights.inputs() - begin);
    for (std::size_t j = 0; j < n; ++j) {
      weights.Read(first + j, begin, std::span(rows[j]).first(size));
    }
    for (std::size_t t = 0; t < size; ++t) {
      for (std::size_t j = 0; j < kF32PanelOutputs; ++j) *out++ = rows[j][t];
    }
  }
}

// Returns false when a value is not finite. |v| * inverse is at most 127 and a bit.
bool QuantiseOutput(std::span<const float> values, std::int8_t* q, float& scale,
                    std::int32_t& sum) {
  float largest = 0;
  bool finite = true;
  for (const float v : values) {
    largest = std::max(largest, std::abs(v));
    finite = finite && std::abs(v) <= std::numeric_limits<float>::max();
  }
  if (!finite) return false;
  // The inverse of a denormal would overflow; such an output is zero in f32 products too.
  const bool zero = largest < 1e-35f;
  const float inverse = zero ? 0.0f : 127.0f / largest;
  scale = zero ? 0.0f : largest / 127.0f;
  constexpr float kRounder =
      12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, nearest even.
  sum = 0;
  for (std::size_t t = 0; t < values.size(); ++t) {
    const float rounded = (values[t] * inverse + kRounder) - kRounder;
    q[t] = static_cast<std::int8_t>(static_cast<std::int32_t>(rounded));
    sum += q[t];
  }
  return true;
}

// The factor of an input is the root of its weights' size, relative to the geometric mean of all
// inputs' sizes, and bounded. An input without weights, or with some that are not finite, has 1.
void EqualiseInputs(ThreadPool& pool, const StackedRows& weights, std::span<float> factor) {
  const std::size_t inputs = weights.inputs();
  std::vector<double> log_size(inputs, 0.0);
  std::vector<std::uint8_t> dead(inputs, 0);
  pool.ParallelFor(inputs, kChunk, [&](std::size_t begin, std::size_t end) {
    std::array<float, kChunk> values;
    for (std::size_t chunk = begin; chunk < end; chunk += kChunk) {
      const std::size_t size = std::min(kChunk, end - chunk);
      std::array<double, kChunk> squares{};
      for (std::size_t j = 0; j < weights.outputs(); ++j) {
        weights.Read(j, chunk, std::span(values).first(size));
        for (std::size_t t = 0; t < size; ++t) squares[t] += double{values[t]} * values[t];
      }
      for (std::size_t t = 0; t < size; ++t) {
        const bool alive = squares[t] > 0 && std::isfinite(squares[t]);
        dead[chunk + t] = !alive;
        if (alive) log_size[chunk + t] = 0.5 * std::log(squares[t]);
      }
    }
  });
  double mean = 0;
  std::size_t n_alive = 0;
  for (std::size_t t = 0; t < inputs; ++t) {
    mean += log_size[t];
    n_alive += dead[t] == 0;
  }
  mean /= static_cast<double>(std::max<std::size_t>(n_alive, 1));
  for (std::size_t t = 0; t < inputs; ++t) {
    const double root = std::exp(0.5 * (log_size[t] - mean));
    factor[t] = dead[t] != 0 ? 1.0f : static_cast<float>(std::clamp(root, 1.0 / 16, 16.0));
  }
}

// Lays one output's weights into its panel, `group` inputs together; `to` is the output's first
// place.
template <typename T>
void SpreadGroups(std::span<const T> row, std::size_t group, std::size_t panel_outputs, T* to) {
  for (std::size_t t = 0; t < row.size(); t += group) {
    std::memcpy(to + t * panel_outputs, row.data() + t, group * sizeof(T));
  }
}

}  // namespace

void PackF32(ThreadPool& pool, const StackedRows& weights, std::span<float> panels) {
  const std::size_t n_panels = (weights.outputs() + kF32PanelOutputs - 1) / kF32PanelOutputs;
  const std::size_t panel_size = weights.inputs() * kF32PanelOutputs;
  LATTICE_CHECK(panels.size() == n_panels * panel_size);
  pool.ParallelFor(n_panels, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      PackF32Panel(weights, p, panels.data() + p * panel_size);
    }
  });
}

void PackBf16(ThreadPool& pool, const StackedRows& weights, std::size_t group, std::size_t padded,
              std::span<std::uint16_t> panels) {
  const std::size_t outputs = weights.outputs(), inputs = weights.inputs();
  const std::size_t n_panels = (outputs + kBf16PanelOutputs - 1) / kBf16PanelOutputs;
  LATTICE_CHECK(padded >= inputs && padded % group == 0);
  LATTICE_CHECK(panels.size() == n_panels * kBf16PanelOutputs * padded);
  pool.ParallelFor(n_panels, 1, [&](std::size_t begin, std::size_t end) {
    std::vector<float> values(inputs);
    std::vector<std::uint16_t> rounded(padded);
    for (std::size_t j = begin * kBf16PanelOutputs; j < end * kBf16PanelOutputs; ++j) {
      if (j < outputs) {
        weights.Read(j, 0, values);
        std::ranges::transform(values, rounded.begin(), F32ToBf16);
      } else {
        std::ranges::fill(rounded, std::uint16_t{0});
      }
      const std::size_t row = j % kBf16PanelOutputs;
      SpreadGroups<std::uint16_t>(rounded, group, kBf16PanelOutputs,
                                  panels.data() + (j - row) * padded + row * group);
    }
  });
}

Status PackInt8(ThreadPool& pool, const StackedRows& weights, std::size_t group, std::size_t padded,
                const Int8Weights& out) {
  const std::size_t outputs = weights.outputs(), inputs = weights.inputs();
  const std::size_t n_panels = (outputs + kInt8PanelOutputs - 1) / kInt8PanelOutputs;
  LATTICE_CHECK(padded >= inputs && padded % group == 0);
  LATTICE_CHECK(out.panels.size() == n_panels * kInt8PanelOutputs * padded);
  LATTICE_CHECK(out.factor.size() == inputs);
  EqualiseInputs(pool, weights, out.factor);
  std::atomic<std::size_t> bad_output = outputs;
  pool.ParallelFor(n_panels, 1, [&](std::size_t begin, std::size_t end) {
    std::vector<float> values(inputs);
    std::vector<std::int8_t> q(padded);
    for (std::size_t j = begin * kInt8PanelOutputs; j < end * kInt8PanelOutputs; ++j) {
      std::ranges::fill(q, std::int8_t{0});
      out.scale[j] = 0;
      out.sum[j] = 0;
      if (j < outputs) {
        weights.Read(j, 0, values);
        for (std::size_t t = 0; t < inputs; ++t) values[t] /= out.factor[t];
        if (!QuantiseOutput(values, q.data(), out.scale[j], out.sum[j])) bad_output = j;
      }
      const std::size_t row = j % kInt8PanelOutputs;
      SpreadGroups<std::int8_t>(q, group, kInt8PanelOutputs,
                                out.panels.data() + (j - row) * padded + row * group);
    }
  });
  if (bad_output < outputs) {
    return Error{ErrorCode::kCorruptData, "a weight of output " + std::to_string(bad_output) +
                                              " is not finite; int8 needs finite weights"};
  }
  return Ok();
}

}  // namespace lattice::kernels
