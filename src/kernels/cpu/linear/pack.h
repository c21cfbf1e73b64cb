#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/thread_pool.h"
#include "kernels/cpu/linear/stacked_rows.h"

namespace lattice::kernels {

/// Writes the layout of gemm_f32.h; panels.size() = ceil(outputs / 32) * inputs * 32.
void PackF32(ThreadPool& pool, const StackedRows& weights, std::span<float> panels);

/// Rounds to bf16 and writes the layout of gemm_bf16.h; panels.size() = ceil(outputs / 32) * 32 *
/// padded.
void PackBf16(ThreadPool& pool, const StackedRows& weights, std::size_t group, std::size_t padded,
              std::span<std::uint16_t> panels);

/// Where PackInt8 writes: see gemm_int8.h. Sizes are ceil(outputs / 32) * 32, times `padded` for
/// panels; `factor` has one value for each input.
struct Int8Weights {
  std::span<std::int8_t> panels;
  std::span<float> scale;
  std::span<std::int32_t> sum;
  std::span<float> factor;
};

/// Quantises each output by itself: scale = largest magnitude / 127, weights to the nearest, even
/// when halfway. Before, inputs of small weights, which are those of large values, trade size with
/// them: weights of input t are divided by factor[t], with which its values are to be multiplied.
/// `group` and `padded` (inputs) as in gemm_int8.h. kCorruptData when a weight is not finite.
Status PackInt8(ThreadPool& pool, const StackedRows& weights, std::size_t group, std::size_t padded,
                const Int8Weights& out);

}  // namespace lattice::kernels
