#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace lattice {

/// How elements are stored: one by one, or in blocks that share scales (the structs of blocks.h).
enum class Dtype : std::uint8_t {
  kF64,
  kF32,
  kF16,
  kBf16,
  kF8E4M3,  // OCP 8-bit float, no infinities, NaN at S.1111.111
  kF8E5M2,
  kI64,
  kI32,
  kI16,
  kI8,
  kU64,
  kU32,
  kU16,
  kU8,
  kBool,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2K,
  kQ3K,
  kQ4K,
  kQ5K,
  kQ6K,
  kIq4Nl,
  kIq4Xs,
  kMxfp4,
  kKhq4,  // blocks of .q4 files
  kKhq3,  // blocks of .q3 files
};

/// The smallest run of elements that stands alone, and its size.
struct BlockLayout {
  std::size_t elements = 1;
  std::size_t bytes = 0;
};

/// 1 element for the plain formats.
BlockLayout LayoutOf(Dtype dtype);

/// Bytes of one element of a plain format (not IsBlock). For bytes of many: StorageBytes.
std::size_t DtypeBytes(Dtype dtype);

/// Bytes of n_elements, which must be whole blocks and must have been stored somewhere: overflow is
/// a precondition too (LATTICE_CHECK of both).
std::size_t StorageBytes(Dtype dtype, std::size_t n_elements);

/// The name in safetensors headers ("F32", "BF16", "F8_E4M3"), or among GGUF types ("Q4_K",
/// "IQ4_NL").
std::string_view DtypeName(Dtype dtype);
std::optional<Dtype> DtypeFromName(std::string_view name);

/// Plain floating-point formats.
bool IsFloat(Dtype dtype);
/// Block-quantised formats.
bool IsBlock(Dtype dtype);
/// IsFloat or IsBlock: what WidenToF32 reads.
bool IsWeight(Dtype dtype);

/// Converts n = out.size() elements that start at `bytes` (any alignment, little-endian, at least
/// as long as n elements take) to f32. Of a block format `bytes` begins with a block and n is whole
/// blocks. Exact for every plain format but f64, which is rounded to nearest even; blocks as
/// decode_blocks.h defines. dtype must satisfy IsWeight.
void WidenToF32(Dtype dtype, std::span<const std::byte> bytes, std::span<float> out);

/// The same for any run of elements [begin, begin + out.size()) of a `row` that is stored as whole
/// blocks; blocks at the edges are decoded and used in part.
void WidenPartToF32(Dtype dtype, std::span<const std::byte> row, std::size_t begin,
                    std::span<float> out);

}  // namespace lattice
