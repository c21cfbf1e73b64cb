#pragma once

#include <span>

#include "numeric/blocks.h"

namespace lattice {

/// The definition of each block format: element i of the block -> out[i], in f32 arithmetic with
/// the products in the order written in the .cc files. Kernels are compared with these. Source: the
/// GGUF format's reference decoders, to which they are equal bit for bit; the last two those of .q4
/// and .q3 files (w = q * scale + bias).
void DecodeBlock(const BlockQ4_0& block, std::span<float, 32> out);
void DecodeBlock(const BlockQ4_1& block, std::span<float, 32> out);
void DecodeBlock(const BlockQ5_0& block, std::span<float, 32> out);
void DecodeBlock(const BlockQ5_1& block, std::span<float, 32> out);
void DecodeBlock(const BlockQ8_0& block, std::span<float, 32> out);
void DecodeBlock(const BlockQ2K& block, std::span<float, 256> out);
void DecodeBlock(const BlockQ3K& block, std::span<float, 256> out);
void DecodeBlock(const BlockQ4K& block, std::span<float, 256> out);
void DecodeBlock(const BlockQ5K& block, std::span<float, 256> out);
void DecodeBlock(const BlockQ6K& block, std::span<float, 256> out);
void DecodeBlock(const BlockIq4Nl& block, std::span<float, 32> out);
void DecodeBlock(const BlockIq4Xs& block, std::span<float, 256> out);
void DecodeBlock(const BlockMxfp4& block, std::span<float, 32> out);
void DecodeBlock(const BlockKhq4& block, std::span<float, 32> out);
void DecodeBlock(const BlockKhq3& block, std::span<float, 32> out);

/// The values behind the 4-bit codes of IQ4_NL and IQ4_XS.
inline constexpr std::int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};
/// Twice the values of OCP's 4-bit float (E2M1), by code.
inline constexpr std::int8_t kMxfp4Values[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                                 0, -1, -2, -3, -4, -6, -8, -12};

/// Half of the block's scale 2^(e - 127), for the doubled values above; exact, subnormal for e < 2.
float Mxfp4Scale(std::uint8_t e);

}  // namespace lattice
