#if defined(__aarch64__)
#include "kernels/cpu/peak/peak.h"

// See x86.cc. An extension that the file is not compiled for is named in the assembly.

namespace lattice::kernels {
namespace {

#define LATTICE_CLOBBERS                                                                         \
  "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", \
      "v15", "v30", "v31"
#define LATTICE_EACH(one)                                                                   \
  one("0") one("1") one("2") one("3") one("4") one("5") one("6") one("7") one("8") one("9") \
      one("10") one("11") one("12") one("13") one("14") one("15")
#define LATTICE_CLEAR(n) "movi v" n ".4s, #0\n"
#define LATTICE_RUN(name, extension, one)                                                      \
  void name(std::size_t n_steps) {                                                             \
    asm volatile(extension LATTICE_EACH(LATTICE_CLEAR) LATTICE_CLEAR("30")                     \
                     LATTICE_CLEAR("31") "1:\n" LATTICE_EACH(one) "subs %0, %0, #1\nb.ne 1b\n" \
                 : "+r"(n_steps)::LATTICE_CLOBBERS, "cc");                                     \
  }
#define LATTICE_FMLA(n) "fmla v" n ".4s, v30.4s, v31.4s\n"
#define LATTICE_SDOT(n) "sdot v" n ".4s, v30.16b, v31.16b\n"
#define LATTICE_BFDOT(n) "bfdot v" n ".4s, v30.8h, v31.8h\n"

LATTICE_RUN(Fmla, "", LATTICE_FMLA)
LATTICE_RUN(Sdot, ".arch armv8.2-a+dotprod\n", LATTICE_SDOT)
LATTICE_RUN(Bfdot, ".arch armv8.2-a+bf16\n", LATTICE_BFDOT)

constexpr double kSums = 16;
constexpr PeakVariant kVariants[] = {
    {"neon_dotprod", CpuFeature::kNeonDotprod, Precision::kInt8, 2 * kSums * 16, Sdot},
    {"neon_bf16", CpuFeature::kNeonBf16, Precision::kBf16, 2 * kSums * 8, Bfdot},
    {"neon", CpuFeature::kNeon, Precision::kF32, 2 * kSums * 4, Fmla},
};

}  // namespace

std::span<const PeakVariant> PeakVariants() { return kVariants; }

}  // namespace lattice::kernels
#endif
