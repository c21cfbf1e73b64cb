// What the multiply-add instructions of this processor reach on registers alone, one thread: the
// numbers that the product benchmarks are to be compared with.
#include <benchmark/benchmark.h>

#if defined(__x86_64__)
#include <immintrin.h>

#include "base/cpu_features.h"
#include "kernels/cpu/simd/amx_tiles.inl"

namespace lattice::kernels {
namespace {

// Sixteen independent sums: more than latency times units of any processor that we know.
#define LATTICE_PEAK_STEP(instruction)                                                      \
  asm volatile(                                                                             \
      instruction                                                                           \
      " %%zmm16, %%zmm17, %%zmm0\n" instruction " %%zmm16, %%zmm17, %%zmm1\n" instruction   \
      " %%zmm16, %%zmm17, %%zmm2\n" instruction " %%zmm16, %%zmm17, %%zmm3\n" instruction   \
      " %%zmm16, %%zmm17, %%zmm4\n" instruction " %%zmm16, %%zmm17, %%zmm5\n" instruction   \
      " %%zmm16, %%zmm17, %%zmm6\n" instruction " %%zmm16, %%zmm17, %%zmm7\n" instruction   \
      " %%zmm16, %%zmm17, %%zmm8\n" instruction " %%zmm16, %%zmm17, %%zmm9\n" instruction   \
      " %%zmm16, %%zmm17, %%zmm10\n" instruction " %%zmm16, %%zmm17, %%zmm11\n" instruction \
      " %%zmm16, %%zmm17, %%zmm12\n" instruction " %%zmm16, %%zmm17, %%zmm13\n" instruction \
      " %%zmm16, %%zmm17, %%zmm14\n" instruction " %%zmm16, %%zmm17, %%zmm15\n" ::          \
          : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
            "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")

void Count(benchmark::State& state, int ops_per_instruction) {
  state.counters["OP/s"] =
      benchmark::Counter(16.0 * ops_per_instruction * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}

void ClearOperands() {
  asm volatile("vpxorq %%zmm16, %%zmm16, %%zmm16\nvpxorq %%zmm17, %%zmm17, %%zmm17" ::: "memory");
}

bool Lacks(benchmark::State& state, CpuFeature feature) {
  if (CpuFeatures::Detect().Has(feature)) return false;
  state.SkipWithError("this processor lacks the instruction");
  return true;
}

void PeakF32(benchmark::State& state) {
  if (Lacks(state, CpuFeature::kAvx512)) return;
  ClearOperands();
  for (auto _ : state) LATTICE_PEAK_STEP("vfmadd231ps");
  Count(state, 2 * 16);
}
BENCHMARK(PeakF32);

void PeakInt8(benchmark::State& state) {
  if (Lacks(state, CpuFeature::kAvx512Vnni)) return;
  ClearOperands();
  for (auto _ : state) LATTICE_PEAK_STEP("vpdpbusd");
  Count(state, 2 * 64);
}
BENCHMARK(PeakInt8);

void PeakBf16(benchmark::State& state) {
  if (Lacks(state, CpuFeature::kAvx512Bf16)) return;
  ClearOperands();
  for (auto _ : state) LATTICE_PEAK_STEP("vdpbf16ps");
  Count(state, 2 * 32);
}
BENCHMARK(PeakBf16);

// Four independent sums of tiles.
template <typename Dot>
void PeakAmx(benchmark::State& state, CpuFeature feature, int inputs) {
  if (Lacks(state, feature)) return;
  TileConfig config;
  for (int tile = 0; tile < 8; ++tile) config.Set(tile, kTileRows);
  Configure(config);
  for (auto _ : state) {
    Dot::template Run<0, 4, 6>();
    Dot::template Run<1, 4, 7>();
    Dot::template Run<2, 5, 6>();
    Dot::template Run<3, 5, 7>();
  }
  ReleaseTiles();
  state.counters["OP/s"] =
      benchmark::Counter(4.0 * 2 * 16 * 16 * inputs * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}
void PeakAmxInt8(benchmark::State& state) { PeakAmx<DotInt8>(state, CpuFeature::kAmxInt8, 64); }
BENCHMARK(PeakAmxInt8);
void PeakAmxBf16(benchmark::State& state) { PeakAmx<DotBf16>(state, CpuFeature::kAmxBf16, 32); }
BENCHMARK(PeakAmxBf16);

}  // namespace
}  // namespace lattice::kernels
#endif
