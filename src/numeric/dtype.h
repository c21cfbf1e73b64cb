#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace lattice {

/// How one element is stored. Block-quantised layouts are not dtypes: they have structs of their
/// own.
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
};

/// Bytes of one element.
std::size_t DtypeBytes(Dtype dtype);

/// The name in safetensors headers: "F32", "BF16", "F8_E4M3".
std::string_view DtypeName(Dtype dtype);
std::optional<Dtype> DtypeFromName(std::string_view name);

/// True for the formats that WidenToF32 reads.
bool IsFloat(Dtype dtype);

/// Converts n = out.size() elements that start at `bytes` (any alignment, little-endian, at least
/// n * DtypeBytes long) to f32. Exact for every format but f64, which is rounded to nearest even.
/// dtype must satisfy IsFloat.
void WidenToF32(Dtype dtype, std::span<const std::byte> bytes, std::span<float> out);

}  // namespace lattice
