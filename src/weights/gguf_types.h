#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "lattice/result.h"
#include "numeric/dtype.h"

namespace lattice::weights {

/// Types of metadata values, by their number in files.
enum class GgufType : std::uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

/// Bytes of a value; 0 for strings and arrays, whose size they tell themselves, and for numbers
/// that are no type.
std::size_t GgufTypeBytes(GgufType type);
bool IsGgufType(std::uint32_t number);
/// "u32", "string", ...
std::string_view GgufTypeName(GgufType type);

/// How a tensor of that type number is stored. kUnsupported, with the type's name, for those that
/// this build does not read and for unknown numbers.
Result<Dtype> DtypeFromGgufTensorType(std::uint32_t number);
/// The number of a dtype, where the format has one.
std::optional<std::uint32_t> GgufTensorTypeOf(Dtype dtype);

}  // namespace lattice::weights
