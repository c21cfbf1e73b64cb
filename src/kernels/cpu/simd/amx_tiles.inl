#pragma once

// AMX tiles: eight registers of sixteen rows of 64 bytes. Included by ISA files only.

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {
namespace {

constexpr std::size_t kTileRows = 16;
constexpr std::size_t kTileBytes = 64;  // of a row

struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};

  inline void Set(int tile, std::size_t n_rows) {
    rows[tile] = static_cast<std::uint8_t>(n_rows);
    row_bytes[tile] = n_rows == 0 ? 0 : kTileBytes;
  }
};
static_assert(sizeof(TileConfig) == 64);

// The whole object is an input: the intrinsic of g++ 12 names 8 of its bytes, and the stores of the
// others may then be dropped.
[[gnu::always_inline]] inline void Configure(const TileConfig& config) {
  asm volatile("ldtilecfg %0" : : "m"(config));
}
[[gnu::always_inline]] inline void ReleaseTiles() { asm volatile("tilerelease"); }

template <int kTile>
[[gnu::always_inline]] inline void ZeroTile() {
  asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
}
template <int kTile>
[[gnu::always_inline]] inline void LoadTile(const void* from, std::size_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(kTile) : "memory");
}
template <int kTile>
[[gnu::always_inline]] inline void StoreTile(void* to, std::size_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(kTile) : "memory");
}

// Products of tiles: Run<C, A, B>() adds those of A and B to C.
struct DotInt8 {
  template <int kSum, int kInputs, int kWeights>
  [[gnu::always_inline]] static void Run() {
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kInputs), "i"(kWeights));
  }
};
struct DotSigned {
  template <int kSum, int kInputs, int kWeights>
  [[gnu::always_inline]] static void Run() {
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kInputs), "i"(kWeights));
  }
};
struct DotBf16 {
  template <int kSum, int kInputs, int kWeights>
  [[gnu::always_inline]] static void Run() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0"
                 :
                 : "i"(kSum), "i"(kInputs), "i"(kWeights));
  }
};

}  // namespace
}  // namespace lattice::kernels
