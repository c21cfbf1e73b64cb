#include "fann/units/units.h"

namespace lattice::fann {
namespace {

constexpr UnitVariant kVariants[] = {
#if defined(__x86_64__)
    {"avx512", CpuFeature::kAvx512, &kUnitsAvx512},
    {"avx2", CpuFeature::kAvx2, &kUnitsAvx2},
#elif defined(__aarch64__)
    {"neon", CpuFeature::kNeon, &kUnitsNeon},
#endif
    {"scalar", {}, &kUnitsScalar},
};

}  // namespace

std::span<const UnitVariant> UnitVariants() { return kVariants; }

const UnitFns& SelectUnits(CpuFeatures cpu) {
  const UnitVariant* variant = kVariants;
  while (!cpu.Has(variant->needs)) ++variant;
  return *variant->fns;
}

}  // namespace lattice::fann
