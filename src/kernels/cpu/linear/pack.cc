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

// One block of one output. Returns false when a value is not finite. |v| * inverse is at most 127
// and a bit.
bool QuantiseBlock(std::span<const float> values, std::int8_t* q, float& scale, float& sum) {
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
  std::int32_t total = 0;
  for (std::size_t t = 0; t < values.size(); ++t) {
    const float rounded = (values[t] * inverse + kRounder) - kRounder;
    q[t] = static_cast<std::int8_t>(static_cast<std::int32_t>(rounded));
    total += q[t];
  }
  sum = static_cast<float>(total);
  return true;
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
  const std::size_t n_blocks = Int8Blocks(padded);
  LATTICE_CHECK(out.scale.size() == n_panels * kInt8PanelOutputs * n_blocks);
  LATTICE_CHECK(out.sum.size() == out.scale.size());
  std::atomic<std::size_t> bad_output = outputs;
  pool.ParallelFor(n_panels, 1, [&](std::size_t begin, std::size_t end) {
    std::vector<float> values(inputs);
    std::vector<std::int8_t> q(padded);
    for (std::size_t j = begin * kInt8PanelOutputs; j < end * kInt8PanelOutputs; ++j) {
      std::ranges::fill(q, std::int8_t{0});
      if (j < outputs) weights.Read(j, 0, values);
      const std::size_t row = j % kInt8PanelOutputs;
      for (std::size_t b = 0; b < n_blocks; ++b) {
        const std::size_t at = (j - row) * n_blocks + b * kInt8PanelOutputs + row;
        const std::size_t first = std::min(b * kInt8BlockInputs, inputs);
        const std::size_t size = std::min(kInt8BlockInputs, inputs - first);
        out.scale[at] = out.sum[at] = 0;
        if (j < outputs && !QuantiseBlock(std::span(values).subspan(first, size), q.data() + first,
                                          out.scale[at], out.sum[at])) {
          bad_output = j;
        }
      }
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
