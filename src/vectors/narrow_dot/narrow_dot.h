#pragma once

#include <span>

#include "base/cpu_features.h"
#include "vectors/narrow_dot/variants.h"

namespace lattice::vectors {

/// Inner products of vectors that are stored narrow, any alignment.
///
///   f16, bf16  sum query[i] row[i], n elements, the row's bits as IEEE binary16 or bfloat16
///   wide_i8    the same with a row of int8
///   f16_pair, bf16_pair  sum a[i] b[i] of two such rows
///   i8         sum a[i] b[i] of elements in -127..127, n <= 2^16: exact
///   i4         sum of (a - 8)(b - 8) over the nibbles of n_bytes <= 2^16 bytes, nibbles 1..15:
///              exact; padding is a nibble of 8
///   hamming    bits that differ in n_bytes bytes, n_bytes < 2^28
///
/// Order   of the first five: that of dot.h, so a row is worth as much as its elements in f32;
///         bf16_pair: of each 32 elements the even ones come before the odd ones. All rows of the
///         table give the same bits.
/// Errors  none.
struct NarrowDotVariant {
  const char* name;
  CpuFeatures needs;
  const NarrowDotFns* fns;
};

/// Fastest first; the last row runs anywhere.
std::span<const NarrowDotVariant> NarrowDotVariants();

/// The first row that `cpu` can run.
const NarrowDotVariant& SelectNarrowDot(CpuFeatures cpu);

}  // namespace lattice::vectors
