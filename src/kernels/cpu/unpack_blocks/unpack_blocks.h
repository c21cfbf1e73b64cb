#pragma once

#include <span>

#include "base/cpu_features.h"
#include "kernels/cpu/unpack_blocks/variants.h"
#include "numeric/dtype.h"

namespace lattice::kernels {

/// How a block format reads as integers: w = scale * (q - zero) + min, q in 0..255, for every
/// `group` weights a scale and a minimum. scale and min are the f32 products that the format's
/// definition (numeric/decode_blocks.h) takes.
struct BlockForm {
  std::size_t group = 32;  ///< 16 or 32
  std::int32_t zero = 0;
  bool has_min = false;
};

/// dtype must satisfy IsBlock.
BlockForm BlockFormOf(Dtype dtype);

struct UnpackBlocksVariant {
  const char* name;
  CpuFeatures needs;
  const UnpackBlocksFns* run;
};

/// All variants of this architecture, fastest first; the last runs anywhere and has no functions of
/// its own.
std::span<const UnpackBlocksVariant> UnpackBlocksVariants();

/// The function that unpacks a panel of `dtype`. All give the same bits.
UnpackBlocksFn SelectUnpackBlocks(Dtype dtype, CpuFeatures cpu);
/// The plain one: the definition of the others.
UnpackBlocksFn PlainUnpackBlocks(Dtype dtype);

}  // namespace lattice::kernels
