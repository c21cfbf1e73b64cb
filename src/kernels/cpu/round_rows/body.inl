// RoundRow for the instruction set of the including file: a loop that compilers turn into vectors.

#include "kernels/cpu/round_rows/variants.h"

namespace lattice::kernels {
namespace {

inline void RoundRow(const float* x, std::size_t k, std::uint16_t* out, std::size_t k_padded) {
  for (std::size_t t = 0; t < k; ++t) {
    std::uint32_t bits;
    __builtin_memcpy(&bits, x + t, sizeof(bits));
    const std::uint32_t nearest = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
    const std::uint32_t quiet = (bits >> 16) | 0x40u;  // What a NaN becomes.
    const bool nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
    out[t] = static_cast<std::uint16_t>(nan ? quiet : nearest);
  }
  for (std::size_t t = k; t < k_padded; ++t) out[t] = 0;
}

}  // namespace
}  // namespace lattice::kernels
