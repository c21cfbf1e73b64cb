#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/paged_attention/kv_layout.h"

namespace lattice::kernels {

/// Query rows of one text, for the query heads of one key head. A "pair" is one head of one row,
/// numbered row by row.
struct PagedBlock {
  const float* q;  ///< First head of the first row; heads lie dim apart.
  std::size_t q_stride;
  std::size_t n_rows, n_heads;
  std::uint32_t first_position;  ///< Of the first row.
  float scale, soft_cap;         ///< soft_cap 0: none.
  std::uint32_t window;          ///< 0: none.
  const std::byte* pages;        ///< The key head's place in page 0.
  std::size_t page_bytes;
  const std::uint32_t* page_of;  ///< [position / 64]
  const KvLayout* layout;
};

/// What some keys add up to, for each pair: the largest score (as a power of two), and the sums of
/// the probabilities, and of values times probabilities, both times 2^-largest.
struct PagedPartial {
  float* largest;  ///< [pairs to the next multiple of 16]
  float* total;    ///< the same
  float* sums;     ///< [pairs][padded_dim]
};

struct PagedAttentionKernels {
  /// Row `place` of a page's head becomes k and v, [dim].
  void (*store)(const KvLayout& layout, const float* k, const float* v, std::size_t place,
                std::byte* head);
  std::size_t (*scratch_floats)(const KvLayout& layout, std::size_t n_pairs);
  /// The sums over the keys of a segment. scratch: 64-byte aligned.
  void (*segment)(const PagedBlock& block, std::size_t segment, float* scratch,
                  const PagedPartial& out);
  /// No keys.
  void (*clear)(std::size_t n_pairs, std::size_t padded_dim, const PagedPartial& out);
  /// sum += next: the keys of `next` follow those of `sum`.
  void (*merge)(const PagedPartial& next, std::size_t n_pairs, std::size_t padded_dim,
                const PagedPartial& sum);
  /// out: first head of the first row; heads lie dim apart.
  void (*finish)(const PagedPartial& sum, const PagedBlock& block, float* out,
                 std::size_t out_stride);
};

extern const PagedAttentionKernels kPagedAttentionScalar;
extern const PagedAttentionKernels kPagedAttentionAvx2;
extern const PagedAttentionKernels kPagedAttentionAvx512;
extern const PagedAttentionKernels kPagedAttentionNeon;

}  // namespace lattice::kernels
