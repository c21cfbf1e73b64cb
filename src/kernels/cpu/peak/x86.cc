#if defined(__x86_64__)
#include "kernels/cpu/peak/peak.h"
#include "kernels/cpu/simd/amx_tiles.inl"

// Assembly, so that nothing is left out, and so that one file may name every instruction set. A
// step has sixteen independent sums: more than latency times units of any processor that we know.

namespace lattice::kernels {
namespace {

#define LATTICE_CLOBBERS                                                                   \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
      "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"

// Each instruction of `text` once for each sum "%%zmmN" or "%%ymmN".
#define LATTICE_EACH(one)                                                                   \
  one("0") one("1") one("2") one("3") one("4") one("5") one("6") one("7") one("8") one("9") \
      one("10") one("11") one("12") one("13")

#define LATTICE_FMA_512(n) "vfmadd231ps %%zmm14, %%zmm15, %%zmm" n "\n"
#define LATTICE_VNNI_512(n) "vpdpbusd %%zmm14, %%zmm15, %%zmm" n "\n"
#define LATTICE_BF16_512(n) "vdpbf16ps %%zmm14, %%zmm15, %%zmm" n "\n"
#define LATTICE_FMA_256(n) "vfmadd231ps %%ymm14, %%ymm15, %%ymm" n "\n"
#define LATTICE_VNNI_256(n) "%{vex%} vpdpbusd %%ymm14, %%ymm15, %%ymm" n "\n"

constexpr double kSums = 14;

// Zeros: numbers that grow or are not normal take other times.
#define LATTICE_CLEAR "vpxor %%xmm14, %%xmm14, %%xmm14\nvpxor %%xmm15, %%xmm15, %%xmm15\n"
#define LATTICE_RUN(name, one)                                                                    \
  void name(std::size_t n_steps) {                                                                \
    asm volatile(LATTICE_CLEAR LATTICE_CLEAR_SUMS "1:\n" LATTICE_EACH(one) "dec %0\njnz 1b\n"   \
                 "vzeroupper\n"                                                                 \
                 : "+r"(n_steps)::LATTICE_CLOBBERS, "cc"); \
  }
#define LATTICE_CLEAR_ONE(n) "vpxor %%xmm" n ", %%xmm" n ", %%xmm" n "\n"
#define LATTICE_CLEAR_SUMS LATTICE_EACH(LATTICE_CLEAR_ONE)

LATTICE_RUN(Fma512, LATTICE_FMA_512)
LATTICE_RUN(Vnni512, LATTICE_VNNI_512)
LATTICE_RUN(Bf16512, LATTICE_BF16_512)
LATTICE_RUN(Fma256, LATTICE_FMA_256)
LATTICE_RUN(Vnni256, LATTICE_VNNI_256)

// Without a dot product of bytes: products in pairs of 16 bits, those in pairs of 32, their sum.
#define LATTICE_PAIRS(t, sum)             \
  "vpmaddubsw %%ymm14, %%ymm15, %%ymm" t  \
  "\n"                                    \
  "vpmaddwd %%ymm13, %%ymm" t ", %%ymm" t \
  "\n"                                    \
  "vpaddd %%ymm" t ", %%ymm" sum ", %%ymm" sum "\n"
void Pairs256(std::size_t n_steps) {
  asm volatile(LATTICE_CLEAR LATTICE_CLEAR_SUMS "1:\n" LATTICE_PAIRS("0", "6") LATTICE_PAIRS(
                   "1", "7") LATTICE_PAIRS("2", "8") LATTICE_PAIRS("3", "9")
                   LATTICE_PAIRS("4", "10") LATTICE_PAIRS("5", "11") "dec %0\njnz 1b\nvzeroupper\n"
               : "+r"(n_steps)::LATTICE_CLOBBERS, "cc");
}
constexpr double kPairSums = 6;

template <typename Dot>
void Tiles(std::size_t n_steps) {
  TileConfig config;
  for (int tile = 0; tile < 8; ++tile) config.Set(tile, kTileRows);
  Configure(config);
  for (std::size_t i = 0; i < n_steps; ++i) {
    Dot::template Run<0, 4, 6>();
    Dot::template Run<1, 4, 7>();
    Dot::template Run<2, 5, 6>();
    Dot::template Run<3, 5, 7>();
  }
  ReleaseTiles();
}
constexpr double kTileSums = 4 * 16 * 16;

constexpr PeakVariant kVariants[] = {
    {"amx_int8", CpuFeature::kAmxInt8, Precision::kInt8, 2 * kTileSums * 64, Tiles<DotInt8>},
    {"avx512vnni", CpuFeature::kAvx512Vnni, Precision::kInt8, 2 * kSums * 64, Vnni512},
    {"avxvnni", CpuFeature::kAvxVnni, Precision::kInt8, 2 * kSums * 32, Vnni256},
    {"avx2_int8", CpuFeature::kAvx2, Precision::kInt8, 2 * kPairSums * 32, Pairs256},
    {"amx_bf16", CpuFeature::kAmxBf16, Precision::kBf16, 2 * kTileSums * 32, Tiles<DotBf16>},
    {"avx512bf16", CpuFeature::kAvx512Bf16, Precision::kBf16, 2 * kSums * 32, Bf16512},
    {"avx512", CpuFeature::kAvx512, Precision::kF32, 2 * kSums * 16, Fma512},
    {"avx2", CpuFeature::kAvx2, Precision::kF32, 2 * kSums * 8, Fma256},
};

}  // namespace

std::span<const PeakVariant> PeakVariants() { return kVariants; }

}  // namespace lattice::kernels
#endif
