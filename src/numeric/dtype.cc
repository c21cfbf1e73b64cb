#include "numeric/dtype.h"

#include <array>
#include <cstring>

#include "lattice/check.h"
#include "numeric/float16.h"

namespace lattice {
namespace {

struct Row {
  Dtype dtype;
  std::string_view name;
  std::size_t n_bytes;
};

constexpr Row kRows[] = {
    {Dtype::kF64, "F64", 8},   {Dtype::kF32, "F32", 4},        {Dtype::kF16, "F16", 2},
    {Dtype::kBf16, "BF16", 2}, {Dtype::kF8E4M3, "F8_E4M3", 1}, {Dtype::kF8E5M2, "F8_E5M2", 1},
    {Dtype::kI64, "I64", 8},   {Dtype::kI32, "I32", 4},        {Dtype::kI16, "I16", 2},
    {Dtype::kI8, "I8", 1},     {Dtype::kU64, "U64", 8},        {Dtype::kU32, "U32", 4},
    {Dtype::kU16, "U16", 2},   {Dtype::kU8, "U8", 1},          {Dtype::kBool, "BOOL", 1},
};

const Row& RowOf(Dtype dtype) {
  for (const Row& row : kRows) {
    if (row.dtype == dtype) return row;
  }
  internal::CheckFailed("known dtype", __FILE__, __LINE__);
}

template <typename Stored, typename Convert>
void Widen(std::span<const std::byte> bytes, std::span<float> out, Convert convert) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    out[i] = convert(stored);
  }
}

}  // namespace

std::size_t DtypeBytes(Dtype dtype) { return RowOf(dtype).n_bytes; }
std::string_view DtypeName(Dtype dtype) { return RowOf(dtype).name; }

std::optional<Dtype> DtypeFromName(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

bool IsFloat(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF64:
    case Dtype::kF32:
    case Dtype::kF16:
    case Dtype::kBf16:
    case Dtype::kF8E4M3:
    case Dtype::kF8E5M2:
      return true;
    default:
      return false;
  }
}

void WidenToF32(Dtype dtype, std::span<const std::byte> bytes, std::span<float> out) {
  LATTICE_CHECK(bytes.size() / DtypeBytes(dtype) >= out.size());
  switch (dtype) {
    case Dtype::kF64:
      return Widen<double>(bytes, out, [](double v) { return static_cast<float>(v); });
    case Dtype::kF32:
      if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size_bytes());
      return;
    case Dtype::kF16:
      return Widen<std::uint16_t>(bytes, out, F16ToF32);
    case Dtype::kBf16:
      return Widen<std::uint16_t>(bytes, out, Bf16ToF32);
    case Dtype::kF8E4M3:
      return Widen<std::uint8_t>(bytes, out, F8E4M3ToF32);
    case Dtype::kF8E5M2:
      return Widen<std::uint8_t>(bytes, out, F8E5M2ToF32);
    default:
      LATTICE_CHECK(IsFloat(dtype));
  }
}

}  // namespace lattice
