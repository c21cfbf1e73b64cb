#include "kernels/cpu/simd/vec_scalar.inl"
// Vec comes first.
#include "kernels/cpu/activation/body.inl"
#include "kernels/cpu/activation/variants.h"

namespace lattice::kernels {

const ActivationKernels kActivationScalar = {
    MapRow<GeluErf>, MapRow<GeluTanh>,     MapRow<Relu>,     MapRow<Silu>,
    MapRow<Tanh>,    MapRow<RoughGeluErf>, GateRow<GeluErf>, GateRow<GeluTanh>,
    GateRow<Relu>,   GateRow<Silu>,        GateRow<Tanh>};

}  // namespace lattice::kernels
