// For variants that take one panel at a time. Included by ISA files only.

#include "kernels/cpu/dot_blocks/variants.h"

namespace lattice::kernels {
namespace {

// Calls run(args) for each panel of `a`, which has it alone.
template <typename Run>
inline void ForPanels(const DotBlocksArgs& a, Run run) {
  DotBlocksArgs part = a;
  for (std::size_t first = 0; first < a.n; first += kBlockPanelOutputs) {
    part.w = a.w + first / kBlockPanelOutputs;
    part.n = a.n - first < kBlockPanelOutputs ? a.n - first : kBlockPanelOutputs;
    part.y = a.y + first;
    run(part);
  }
}

}  // namespace
}  // namespace lattice::kernels
