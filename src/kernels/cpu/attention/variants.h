#pragma once

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {

/// Keys of one step of the softmax, counted from a text's first key.
inline constexpr std::size_t kTileKeys = 64;
/// Keys side by side in a panel of packed keys.
inline constexpr std::size_t kPanelKeys = 16;

/// One key head of one text, packed.
struct PackedKeys {
  const float* keys;    ///< [ceil(n_keys / 16)][dim][16], zero past n_keys.
  const float* values;  ///< [n_keys][dim to the next multiple of 16], zero past dim.
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
  /// k: rows of the key head, `stride` apart.
  void (*pack_keys)(const float* k, std::size_t stride, std::size_t n_keys, std::size_t dim,
                    float* packed);
  void (*pack_values)(const float* v, std::size_t stride, std::size_t n_keys, std::size_t dim,
                      float* packed);
  std::size_t (*scratch_floats)(std::size_t dim);
  /// scratch: 64-byte aligned, scratch_floats(dim) long.
  void (*attend)(const HeadQueries& queries, const PackedKeys& packed, float* scratch);
};

extern const AttentionKernels kAttentionScalar;
extern const AttentionKernels kAttentionAvx2;
extern const AttentionKernels kAttentionAvx512;
extern const AttentionKernels kAttentionNeon;

}  // namespace lattice::kernels
