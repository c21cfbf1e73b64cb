#include "kernels/cpu/bf16_panels/bf16_panels.h"

namespace lattice::kernels {

const Bf16PanelsFns* FindBf16Panels(CpuFeatures cpu) {
#if defined(__x86_64__)
  const CpuFeatures needs =
      CpuFeatures(CpuFeature::kAvx512) | CpuFeature::kAvx512Bf16 | CpuFeature::kAmxBf16;
  if (cpu.Has(needs)) return &kBf16PanelsAmx;
#else
  static_cast<void>(cpu);
#endif
  return nullptr;
}

}  // namespace lattice::kernels
