#include "weights/khq_file.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "base/checked_math.h"
#include "weights/byte_cursor.h"
#include "weights/json_scanner.h"
#include "weights/safetensors_header.h"

namespace lattice::weights {
namespace {

struct Format {
  std::string_view magic;
  std::uint32_t version;
  Dtype dtype;
};

constexpr Format kFormats[] = {
    {"KHQ4", 2, Dtype::kKhq4}, {"KHQ3", 1, Dtype::kKhq3}, {"KHF1", 1, Dtype::kF16}};

Result<Format> ReadFormat(ByteCursor& in) {
  LATTICE_TRY(const auto bytes, in.Take(4, "the magic number"));
  const std::string_view magic(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  LATTICE_TRY(const auto version, in.Number<std::uint32_t>("the version"));
  for (const Format& format : kFormats) {
    if (format.magic != magic) continue;
    if (format.version == version) return format;
    return Error{ErrorCode::kUnsupported, std::string(magic) + " version " +
                                              std::to_string(version) + "; version " +
                                              std::to_string(format.version) + " is read"};
  }
  return Error{ErrorCode::kCorruptData,
               "begins with " + Quoted(magic) + ", not with 'KHQ4', 'KHQ3' or 'KHF1'"};
}

}  // namespace

Result<KhqTensor> ParseKhqFile(std::span<const std::byte> file) {
  ByteCursor in(file);
  KhqTensor tensor;
  LATTICE_TRY(const Format format, ReadFormat(in));
  tensor.dtype = format.dtype;
  LATTICE_TRY(const auto rank, in.Number<std::uint32_t>("the rank"));
  if (rank > kMaxTensorRank) {
    return Error{ErrorCode::kUnsupported, std::to_string(rank) + " dimensions; at most " +
                                              std::to_string(kMaxTensorRank) + " are read"};
  }
  std::size_t product = 1;
  for (std::uint32_t i = 0; i < rank; ++i) {
    LATTICE_TRY(const auto n, in.Number<std::uint64_t>("a dimension"));
    const auto next = CheckedMul(product, n);
    if (!next) return in.Complain("the product of the dimensions overflows");
    product = *next;
    tensor.shape.push_back(n);
  }
  LATTICE_TRY(tensor.n_elements, in.Number<std::uint64_t>("the number of elements"));
  if (tensor.n_elements != product) {
    return in.Complain(std::to_string(tensor.n_elements) + " elements of shape " +
                       ShapeText(tensor.shape));
  }
  const BlockLayout layout = LayoutOf(format.dtype);
  const std::size_t n_blocks = product / layout.elements + (product % layout.elements != 0);
  const auto n_bytes = CheckedMul(n_blocks, layout.bytes);
  if (n_bytes != in.left()) {
    return in.Complain((n_bytes ? std::to_string(*n_bytes) : "more than 2^64") +
                       " bytes of data are announced, " + std::to_string(in.left()) +
                       " are in the file");
  }
  tensor.begin = in.offset();
  return tensor;
}

}  // namespace lattice::weights
