#include "vectors/npy.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "base/checked_math.h"

namespace lattice::vectors {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct Type {
  std::string_view name;
  Dtype dtype;
};
constexpr Type kTypes[] = {
    {"'<f4'", Dtype::kF32}, {"'<f2'", Dtype::kF16}, {"'|i1'", Dtype::kI8}, {"'|u1'", Dtype::kU8}};

Error Corrupt(const char* what) { return Error{ErrorCode::kCorruptData, what}; }

// What follows `key` and its colon in the header, a Python dictionary as NumPy writes it.
std::string_view ValueOf(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(key);
  if (at == std::string_view::npos) return {};
  header.remove_prefix(at + key.size());
  while (header.starts_with(' ') || header.starts_with(':')) header.remove_prefix(1);
  return header;
}

// The number at the front of `text`, which loses it.
std::optional<std::size_t> TakeNumber(std::string_view& text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  std::size_t n = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (code != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return n;
}

// The dictionary, and where the data begin.
struct Header {
  std::string_view text;
  std::size_t end = 0;
};
std::optional<Header> FindHeader(std::string_view file) {
  const auto byte = [&](std::size_t i) { return std::size_t{static_cast<unsigned char>(file[i])}; };
  if (file.size() < 12 || !file.starts_with(kMagic) || byte(6) < 1 || byte(6) > 3) {
    return std::nullopt;
  }
  const bool is_short = byte(6) == 1;
  std::size_t size = byte(8) + (byte(9) << 8);
  if (!is_short) size += (byte(10) << 16) + (byte(11) << 24);
  const std::size_t begin = is_short ? 10 : 12;
  if (size > file.size() - begin) return std::nullopt;
  return Header{file.substr(begin, size), begin + size};
}

}  // namespace

Result<NpyMatrix> ParseNpy(std::span<const std::byte> bytes) {
  const auto header = FindHeader({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!header) return Corrupt("not a NumPy file of format 1 to 3");
  const std::string_view type = ValueOf(header->text, "'descr'");
  const Type* known = nullptr;
  for (const Type& one : kTypes) {
    if (type.starts_with(one.name)) known = &one;
  }
  if (known == nullptr || !ValueOf(header->text, "'fortran_order'").starts_with("False")) {
    return Error{ErrorCode::kUnsupported,
                 "wanted f32 ('<f4'), f16, int8 or uint8 with rows in order; convert with NumPy: "
                 "x.astype('<f4', order='C')"};
  }
  std::string_view shape = ValueOf(header->text, "'shape'");
  const auto take = [&](char before) {
    if (!shape.starts_with(before)) return std::optional<std::size_t>();
    shape.remove_prefix(1);
    return TakeNumber(shape);
  };
  const auto n_rows = take('(');
  const auto dims = n_rows ? take(',') : n_rows;
  if (!dims || !shape.starts_with(')')) return Corrupt("not an array with two axes");
  if (*dims == 0) return Corrupt("vectors without elements");
  const auto n = CheckedMul(*n_rows, *dims);
  const auto n_bytes = n ? CheckedMul(*n, DtypeBytes(known->dtype)) : n;
  if (!n_bytes || bytes.size() - header->end != *n_bytes) {
    return Corrupt("its length is not that of its shape");
  }
  if (header->end % DtypeBytes(known->dtype) != 0) {
    return Error{ErrorCode::kUnsupported, "its data are not aligned; save it again with NumPy"};
  }
  return NpyMatrix{known->dtype, *n_rows, *dims, bytes.subspan(header->end)};
}

}  // namespace lattice::vectors
