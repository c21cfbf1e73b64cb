#pragma once

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {

/// Keys of one step of the softmax, counted from a text's first key.
inline constexpr std::size_t kTileKeys = 64;
/// Keys side by side in a panel of packed keys.
inline constexpr std::size_t kPanelKeys = 16;

/// One key head of one text, packed. A slot of 32 bits holds one f32, or two neighbouring bf16, the
/// first in the low half. "Slots" of n numbers are n, or n / 2 rounded up; AMX rounds them up to a
/// multiple of sixteen.
struct PackedKeys {
  const float* keys;    ///< [ceil(n_keys / 16)][slots of dim][16], zero past n_keys and dim.
  const float* values;  ///< [slots of n_keys][dim to the next multiple of 16], zero past both.
  std::size_t values_stride;
  std::size_t n_keys;
  std::size_t dim;
};

/// Queries of one head of one text.
struct HeadQueries {
  const float* q;  ///< Rows q_stride apart.
  std::size_t q_stride;
  std::size_t n_queries;
  const std::uint32_t* index;  ///< [n_queries] the place of each among the text's keys.
  float scale;
  bool causal;
  std::uint32_t window;  ///< 0 = none.
  float* out;            ///< Rows out_stride apart, dim wide.
  std::size_t out_stride;
};

struct AttentionKernels {
  std::size_t per_slot;  ///< 1: f32. 2: q, k, v and the probabilities are rounded to bf16.
  /// Texts of so many keys or fewer are faster in f32.
  std::size_t few_keys;
  /// What a thread does before and after its calls of attend; may be null.
  void (*enter)();
  void (*leave)();
  /// Sizes of packed keys and values.
  std::size_t (*key_floats)(std::size_t n_keys, std::size_t dim);
  std::size_t (*value_floats)(std::size_t n_keys, std::size_t dim);
  /// k: rows of the key head, `stride` apart.
  void (*pack_keys)(const float* k, std::size_t stride, std::size_t n_keys, std::size_t dim,
                    float* packed);
  void (*pack_values)(const float* v, std::size_t stride, std::size_t n_keys, std::size_t dim,
                      float* packed);
  std::size_t (*scratch_floats)(std::size_t dim);
  /// Between enter and leave. scratch: 64-byte aligned, scratch_floats(dim) long.
  void (*attend)(const HeadQueries& queries, const PackedKeys& packed, float* scratch);
};

extern const AttentionKernels kAttentionScalar;
extern const AttentionKernels kAttentionAvx2;
extern const AttentionKernels kAttentionAvx512;
extern const AttentionKernels kAttentionAvx512Bf16;
extern const AttentionKernels kAttentionAmxBf16;
extern const AttentionKernels kAttentionNeon;

}  // namespace lattice::kernels
