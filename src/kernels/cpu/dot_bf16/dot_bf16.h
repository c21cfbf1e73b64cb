#pragma once

#include <span>

#include "base/cpu_features.h"
#include "kernels/cpu/dot_bf16/variants.h"

namespace lattice::kernels {

/// Products of bf16 rows of x with bf16 rows of weights that are read where they lie, sums in f32,
/// by the instructions that processors have for it. Processors without them widen to f32 and use
/// dot_f32: there is no portable row.
///
/// Order   fixed by the variant; one row and many add alike: equal bits. Variants differ in the
///         last bits of f32, as their instructions do.
/// Errors  none: preconditions only. y aliases no input.
struct DotBf16Variant {
  const char* name;
  CpuFeatures needs;
  DotBf16Fn run;
  bool grouped;                          ///< How rows of x lie: see DotBf16Args.
  const DotBf16ManyFns* many = nullptr;  ///< The same bits for many rows; may be null.
};

/// All variants of this architecture, fastest first; may be empty.
std::span<const DotBf16Variant> DotBf16Variants();
/// Null when the processor has no such instructions.
const DotBf16Variant* FindDotBf16(CpuFeatures cpu);

}  // namespace lattice::kernels
