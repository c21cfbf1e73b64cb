#include "numeric/dtype.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "base/checked_math.h"
#include "lattice/check.h"
#include "numeric/decode_blocks.h"
#include "numeric/float16.h"

namespace lattice {
namespace {

struct Row {
  Dtype dtype;
  std::string_view name;
  BlockLayout layout;
};

template <typename Block>
constexpr Row BlockRow(Dtype dtype, std::string_view name) {
  return {dtype, name, {Block::kElements, sizeof(Block)}};
}

constexpr Row kRows[] = {
    // in the order of the enumerators
    {Dtype::kF64, "F64", {1, 8}},
    {Dtype::kF32, "F32", {1, 4}},
    {Dtype::kF16, "F16", {1, 2}},
    {Dtype::kBf16, "BF16", {1, 2}},
    {Dtype::kF8E4M3, "F8_E4M3", {1, 1}},
    {Dtype::kF8E5M2, "F8_E5M2", {1, 1}},
    {Dtype::kI64, "I64", {1, 8}},
    {Dtype::kI32, "I32", {1, 4}},
    {Dtype::kI16, "I16", {1, 2}},
    {Dtype::kI8, "I8", {1, 1}},
    {Dtype::kU64, "U64", {1, 8}},
    {Dtype::kU32, "U32", {1, 4}},
    {Dtype::kU16, "U16", {1, 2}},
    {Dtype::kU8, "U8", {1, 1}},
    {Dtype::kBool, "BOOL", {1, 1}},
    BlockRow<BlockQ4_0>(Dtype::kQ4_0, "Q4_0"),
    BlockRow<BlockQ4_1>(Dtype::kQ4_1, "Q4_1"),
    BlockRow<BlockQ5_0>(Dtype::kQ5_0, "Q5_0"),
    BlockRow<BlockQ5_1>(Dtype::kQ5_1, "Q5_1"),
    BlockRow<BlockQ8_0>(Dtype::kQ8_0, "Q8_0"),
    BlockRow<BlockQ2K>(Dtype::kQ2K, "Q2_K"),
    BlockRow<BlockQ3K>(Dtype::kQ3K, "Q3_K"),
    BlockRow<BlockQ4K>(Dtype::kQ4K, "Q4_K"),
    BlockRow<BlockQ5K>(Dtype::kQ5K, "Q5_K"),
    BlockRow<BlockQ6K>(Dtype::kQ6K, "Q6_K"),
    BlockRow<BlockIq4Nl>(Dtype::kIq4Nl, "IQ4_NL"),
    BlockRow<BlockIq4Xs>(Dtype::kIq4Xs, "IQ4_XS"),
    BlockRow<BlockMxfp4>(Dtype::kMxfp4, "MXFP4"),
    BlockRow<BlockKhq4>(Dtype::kKhq4, "KHQ4"),
    BlockRow<BlockKhq3>(Dtype::kKhq3, "KHQ3"),
};

constexpr std::size_t kMaxBlockElements = 256;

constexpr bool RowsAreSound() {
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    if (static_cast<std::size_t>(kRows[i].dtype) != i) return false;
    if (kRows[i].layout.elements > kMaxBlockElements) return false;
  }
  return std::size(kRows) == static_cast<std::size_t>(Dtype::kKhq3) + 1;
}
static_assert(RowsAreSound());

const Row& RowOf(Dtype dtype) {
  const auto i = static_cast<std::size_t>(dtype);
  LATTICE_CHECK(i < std::size(kRows));
  return kRows[i];
}

template <typename Stored, typename Convert>
void Widen(std::span<const std::byte> bytes, std::span<float> out, Convert convert) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    out[i] = convert(stored);
  }
}

template <typename Block>
void WidenBlocks(std::span<const std::byte> bytes, std::span<float> out) {
  for (std::size_t i = 0; i < out.size() / Block::kElements; ++i) {
    Block block;
    std::memcpy(&block, bytes.data() + i * sizeof(Block), sizeof(Block));
    DecodeBlock(block, out.subspan(i * Block::kElements).template first<Block::kElements>());
  }
}

}  // namespace

BlockLayout LayoutOf(Dtype dtype) { return RowOf(dtype).layout; }

std::size_t DtypeBytes(Dtype dtype) {
  const BlockLayout layout = LayoutOf(dtype);
  LATTICE_CHECK(layout.elements == 1);
  return layout.bytes;
}

std::size_t StorageBytes(Dtype dtype, std::size_t n_elements) {
  const BlockLayout layout = LayoutOf(dtype);
  LATTICE_CHECK(n_elements % layout.elements == 0);
  const auto n_bytes = CheckedMul(n_elements / layout.elements, layout.bytes);
  LATTICE_CHECK(n_bytes.has_value());
  return *n_bytes;
}

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

bool IsBlock(Dtype dtype) { return LayoutOf(dtype).elements > 1; }
bool IsWeight(Dtype dtype) { return IsFloat(dtype) || IsBlock(dtype); }

void WidenToF32(Dtype dtype, std::span<const std::byte> bytes, std::span<float> out) {
  LATTICE_CHECK(bytes.size() >= StorageBytes(dtype, out.size()));
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
    case Dtype::kQ4_0:
      return WidenBlocks<BlockQ4_0>(bytes, out);
    case Dtype::kQ4_1:
      return WidenBlocks<BlockQ4_1>(bytes, out);
    case Dtype::kQ5_0:
      return WidenBlocks<BlockQ5_0>(bytes, out);
    case Dtype::kQ5_1:
      return WidenBlocks<BlockQ5_1>(bytes, out);
    case Dtype::kQ8_0:
      return WidenBlocks<BlockQ8_0>(bytes, out);
    case Dtype::kQ2K:
      return WidenBlocks<BlockQ2K>(bytes, out);
    case Dtype::kQ3K:
      return WidenBlocks<BlockQ3K>(bytes, out);
    case Dtype::kQ4K:
      return WidenBlocks<BlockQ4K>(bytes, out);
    case Dtype::kQ5K:
      return WidenBlocks<BlockQ5K>(bytes, out);
    case Dtype::kQ6K:
      return WidenBlocks<BlockQ6K>(bytes, out);
    case Dtype::kIq4Nl:
      return WidenBlocks<BlockIq4Nl>(bytes, out);
    case Dtype::kIq4Xs:
      return WidenBlocks<BlockIq4Xs>(bytes, out);
    case Dtype::kMxfp4:
      return WidenBlocks<BlockMxfp4>(bytes, out);
    case Dtype::kKhq4:
      return WidenBlocks<BlockKhq4>(bytes, out);
    case Dtype::kKhq3:
      return WidenBlocks<BlockKhq3>(bytes, out);
    default:
      LATTICE_CHECK(IsWeight(dtype));
  }
}

void WidenPartToF32(Dtype dtype, std::span<const std::byte> row, std::size_t begin,
                    std::span<float> out) {
  const BlockLayout layout = LayoutOf(dtype);
  if (begin % layout.elements == 0 && out.size() % layout.elements == 0) {
    return WidenToF32(dtype, row.subspan(StorageBytes(dtype, begin)), out);
  }
  std::array<float, kMaxBlockElements> values;
  for (std::size_t done = 0; done < out.size();) {
    const std::size_t skip = (begin + done) % layout.elements;
    const std::size_t n = std::min(layout.elements - skip, out.size() - done);
    const auto block = row.subspan((begin + done) / layout.elements * layout.bytes, layout.bytes);
    WidenToF32(dtype, block, std::span(values).first(layout.elements));
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(skip), n,
                out.begin() + static_cast<std::ptrdiff_t>(done));
    done += n;
  }
}

}  // namespace lattice
