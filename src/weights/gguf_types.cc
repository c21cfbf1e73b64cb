#include "weights/gguf_types.h"

#include <iterator>
#include <string>

namespace lattice::weights {
namespace {

struct ValueRow {
  std::string_view name;
  std::size_t n_bytes;
};

constexpr ValueRow kValueTypes[] = {
    // by number
    {"u8", 1},   {"i8", 1},     {"u16", 2},   {"i16", 2}, {"u32", 4}, {"i32", 4}, {"f32", 4},
    {"bool", 1}, {"string", 0}, {"array", 0}, {"u64", 8}, {"i64", 8}, {"f64", 8},
};

struct TensorRow {
  std::uint32_t number;
  std::string_view name;
  std::optional<Dtype> dtype;
};

constexpr TensorRow kTensorTypes[] = {
    {0, "F32", Dtype::kF32},
    {1, "F16", Dtype::kF16},
    {2, "Q4_0", Dtype::kQ4_0},
    {3, "Q4_1", Dtype::kQ4_1},
    {4, "Q4_2", {}},
    {5, "Q4_3", {}},
    {6, "Q5_0", Dtype::kQ5_0},
    {7, "Q5_1", Dtype::kQ5_1},
    {8, "Q8_0", Dtype::kQ8_0},
    {9, "Q8_1", {}},
    {10, "Q2_K", Dtype::kQ2K},
    {11, "Q3_K", Dtype::kQ3K},
    {12, "Q4_K", Dtype::kQ4K},
    {13, "Q5_K", Dtype::kQ5K},
    {14, "Q6_K", Dtype::kQ6K},
    {15, "Q8_K", {}},
    {16, "IQ2_XXS", {}},
    {17, "IQ2_XS", {}},
    {18, "IQ3_XXS", {}},
    {19, "IQ1_S", {}},
    {20, "IQ4_NL", Dtype::kIq4Nl},
    {21, "IQ3_S", {}},
    {22, "IQ2_S", {}},
    {23, "IQ4_XS", Dtype::kIq4Xs},
    {24, "I8", Dtype::kI8},
    {25, "I16", Dtype::kI16},
    {26, "I32", Dtype::kI32},
    {27, "I64", Dtype::kI64},
    {28, "F64", Dtype::kF64},
    {29, "IQ1_M", {}},
    {30, "BF16", Dtype::kBf16},
    {34, "TQ1_0", {}},
    {35, "TQ2_0", {}},
    {39, "MXFP4", Dtype::kMxfp4},
    {40, "NVFP4", {}},
    {41, "Q1_0", {}},
    {42, "Q2_0", {}},
};

}  // namespace

bool IsGgufType(std::uint32_t number) { return number < std::size(kValueTypes); }

std::size_t GgufTypeBytes(GgufType type) {
  const auto number = static_cast<std::uint32_t>(type);
  return IsGgufType(number) ? kValueTypes[number].n_bytes : 0;
}

std::string_view GgufTypeName(GgufType type) {
  const auto number = static_cast<std::uint32_t>(type);
  return IsGgufType(number) ? kValueTypes[number].name : "unknown";
}

Result<Dtype> DtypeFromGgufTensorType(std::uint32_t number) {
  for (const TensorRow& row : kTensorTypes) {
    if (row.number != number) continue;
    if (row.dtype) return *row.dtype;
    return Error{ErrorCode::kUnsupported, "type " + std::string(row.name) + " is not supported"};
  }
  return Error{ErrorCode::kUnsupported, "unknown type " + std::to_string(number)};
}

std::optional<std::uint32_t> GgufTensorTypeOf(Dtype dtype) {
  for (const TensorRow& row : kTensorTypes) {
    if (row.dtype == dtype) return row.number;
  }
  return std::nullopt;
}

}  // namespace lattice::weights
