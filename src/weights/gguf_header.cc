#include "weights/gguf_header.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "base/checked_math.h"
#include "base/utf8.h"
#include "weights/byte_cursor.h"
#include "weights/json_scanner.h"
#include "weights/safetensors_header.h"

namespace lattice::weights {
namespace {

// The least that an element can take: the u64 length of a string; type and count of an array.
constexpr std::size_t kMinStringBytes = 8;
constexpr std::size_t kMinArrayBytes = 12;
constexpr std::size_t kMinPairBytes = 8 + 1 + 4 + 1;
constexpr std::size_t kMinTensorBytes = 8 + 1 + 4 + 4 + 8;

Error Corrupt(std::string message) { return Error{ErrorCode::kCorruptData, std::move(message)}; }
Error Unsupported(std::string message) {
  return Error{ErrorCode::kUnsupported, std::move(message)};
}

Error InTensor(std::string_view name, Error error) {
  return std::move(error).Within("tensor " + Quoted(name));
}

Status CheckMagic(ByteCursor& in) {
  LATTICE_TRY(const auto magic, in.Take(kGgufMagic.size(), "the magic number"));
  const std::string_view text(reinterpret_cast<const char*>(magic.data()), magic.size());
  if (text == kGgufMagic) return Ok();
  return Corrupt("begins with " + Quoted(text) + ", not with 'GGUF'");
}

Result<std::uint32_t> ReadVersion(ByteCursor& in) {
  LATTICE_TRY(const auto version, in.Number<std::uint32_t>("the version"));
  if (version == 2 || version == 3) return version;
  if (version == 0) return Corrupt("version 0");
  if ((version & 0xFFFFu) == 0) {
    return Unsupported("the file is big-endian; only little-endian ones are read");
  }
  return Unsupported("version " + std::to_string(version) + "; versions 2 and 3 are read");
}

// A count of things that take at least so many bytes each, so that it is refused before anything is
// allocated for it.
Result<std::size_t> ReadCount(ByteCursor& in, std::string_view what, std::uint64_t limit,
                              std::size_t min_bytes) {
  LATTICE_TRY(const auto n, in.Number<std::uint64_t>(what));
  if (n > in.left() / min_bytes) {
    return in.Complain(std::string(what) + " is " + std::to_string(n) + ", more than the " +
                       std::to_string(in.left()) + " bytes left can hold");
  }
  if (n > limit) {
    return Unsupported(std::string(what) + " is " + std::to_string(n) + ", above the limit of " +
                       std::to_string(limit));
  }
  return static_cast<std::size_t>(n);
}

Result<GgufType> ReadType(ByteCursor& in) {
  LATTICE_TRY(const auto number, in.Number<std::uint32_t>("a value's type"));
  if (IsGgufType(number)) return static_cast<GgufType>(number);
  return in.Complain("unknown type " + std::to_string(number));
}

// Reads values; counts the elements of arrays that have to be walked one by one.
class ValueReader {
 public:
  explicit ValueReader(ByteCursor& in) : in_(in) {}

  Result<GgufValue> Read(GgufType type, std::size_t depth = 0) {
    if (type == GgufType::kArray) return ReadArray(depth);
    GgufValue value;
    value.type = type;
    if (type == GgufType::kString) {
      LATTICE_TRY(const std::string_view text, in_.String("a string"));
      value.bytes = std::as_bytes(std::span(text));
    } else {
      LATTICE_TRY(value.bytes, in_.Take(GgufTypeBytes(type), "a value"));
    }
    return value;
  }

 private:
  Result<GgufValue> ReadArray(std::size_t depth) {
    if (depth == kMaxGgufArrayDepth) {
      return Unsupported("arrays more than " + std::to_string(kMaxGgufArrayDepth) + " deep");
    }
    GgufValue array;
    array.type = GgufType::kArray;
    LATTICE_TRY(array.element, ReadType(in_));
    const std::size_t width = GgufTypeBytes(array.element);
    const std::size_t least = array.element == GgufType::kString  ? kMinStringBytes
                              : array.element == GgufType::kArray ? kMinArrayBytes
                                                                  : width;
    constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};
    LATTICE_TRY(array.n_elements,
                ReadCount(in_, "an array's length", width != 0 ? kNoLimit : n_left_, least));
    if (width != 0) {
      LATTICE_TRY(array.bytes, in_.Take(array.n_elements * width, "an array"));
      return array;
    }
    n_left_ -= array.n_elements;
    const ByteCursor begin = in_;
    for (std::size_t i = 0; i < array.n_elements; ++i) {
      LATTICE_TRY_VOID(Read(array.element, depth + 1));
    }
    array.bytes = begin.Until(in_);
    return array;
  }

  ByteCursor& in_;
  std::size_t n_left_ = kMaxGgufWalked;
};

Status CheckName(std::string_view what, std::string_view name) {
  if (name.empty()) return Corrupt("empty " + std::string(what));
  if (IsValidUtf8(name) && name.find('\0') == std::string_view::npos) return Ok();
  return Corrupt(std::string(what) + " " + Quoted(name) + " is not UTF-8, or holds U+0000");
}

Status ReadPair(ByteCursor& in, ValueReader& reader, GgufMetadata::Values& values) {
  LATTICE_TRY(const std::string_view key, in.String("a key"));
  LATTICE_TRY_VOID(CheckName("key", key));
  auto type = ReadType(in);
  if (!type) return std::move(type).error().Within("key " + Quoted(key));
  auto value = reader.Read(*type);
  if (!value) return std::move(value).error().Within("key " + Quoted(key));
  if (!values.emplace(key, *value).second) return Corrupt("key " + Quoted(key) + " occurs twice");
  return Ok();
}

Result<std::size_t> ReadAlignment(const GgufMetadata& metadata) {
  LATTICE_TRY(const auto alignment, metadata.UintOr(kGgufAlignmentKey, kDefaultGgufAlignment));
  if (std::has_single_bit(alignment) && alignment <= kMaxGgufAlignment) return alignment;
  return Corrupt("key '" + std::string(kGgufAlignmentKey) + "' is " + std::to_string(alignment) +
                 "; expected a power of two up to " + std::to_string(kMaxGgufAlignment));
}

// Everything of a tensor but where it ends; `begin` counts from the data still.
Status ReadTensor(ByteCursor& in, GgufEntry& entry) {
  LATTICE_TRY(const auto rank, in.Number<std::uint32_t>("a tensor's rank"));
  if (rank > kMaxGgufRank) {
    return Corrupt(std::to_string(rank) + " dimensions; at most 4 are allowed");
  }
  entry.shape.resize(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    LATTICE_TRY(entry.shape[rank - 1 - i], in.Number<std::uint64_t>("a dimension"));
  }
  LATTICE_TRY(const auto type, in.Number<std::uint32_t>("a tensor's type"));
  LATTICE_TRY(entry.dtype, DtypeFromGgufTensorType(type));
  LATTICE_TRY(entry.begin, in.Number<std::uint64_t>("a tensor's offset"));
  return Ok();
}

// Rows must be whole blocks: each is found by its number alone.
Result<std::size_t> SizeOf(const GgufEntry& entry) {
  const std::size_t block = LayoutOf(entry.dtype).elements;
  const std::size_t row = entry.shape.empty() ? 1 : entry.shape.back();
  const std::string text = std::string(DtypeName(entry.dtype)) + " " + ShapeText(entry.shape);
  if (row % block != 0) {
    return Corrupt("rows of " + text + " are not whole blocks of " + std::to_string(block));
  }
  if (const auto n_bytes = TensorBytes(entry.dtype, entry.shape)) return *n_bytes;
  return Corrupt("size of " + text + " overflows");
}

std::optional<std::size_t> RoundUp(std::size_t n, std::size_t alignment) {
  const auto sum = CheckedAdd(n, alignment - 1);
  if (!sum) return std::nullopt;
  return *sum / alignment * alignment;
}

// No holes, no overlaps, and nothing outside the file. Offsets become bytes of the file.
Status PlaceTensors(std::vector<GgufEntry>& entries, std::size_t data_begin, std::size_t alignment,
                    std::size_t file_bytes) {
  std::size_t end = 0;  // of the tensors so far, from the data's begin
  for (GgufEntry& entry : entries) {
    auto n_bytes = SizeOf(entry);
    if (!n_bytes) return InTensor(entry.name, std::move(n_bytes).error());
    const auto begin = RoundUp(end, alignment);
    if (entry.begin != begin) {
      return InTensor(entry.name, Corrupt("offset " + std::to_string(entry.begin) +
                                          "; the tensors before it end "
                                          "at " +
                                          std::to_string(end) + ", and the alignment is " +
                                          std::to_string(alignment)));
    }
    const auto sum = CheckedAdd(*begin, *n_bytes);
    const auto file_end = sum ? CheckedAdd(data_begin, *sum) : std::nullopt;
    if (!file_end || *file_end > file_bytes) {
      return InTensor(entry.name, Corrupt(std::to_string(*n_bytes) + " bytes at offset " +
                                          std::to_string(*begin) + " of the data at byte " +
                                          std::to_string(data_begin) + " leave the file of " +
                                          std::to_string(file_bytes) + ": is it truncated?"));
    }
    end = *sum;
    entry.begin = data_begin + *begin;
    entry.end = *file_end;
  }
  return Ok();
}

// Sorting costs n log n whatever the names are; a hash table can be driven into n^2.
Status CheckNames(const std::vector<GgufEntry>& entries) {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const GgufEntry& entry : entries) names.push_back(entry.name);
  std::ranges::sort(names);
  const auto repeated = std::ranges::adjacent_find(names);
  if (repeated != names.end()) return Corrupt("tensor " + Quoted(*repeated) + " occurs twice");
  return Ok();
}

Result<std::vector<GgufEntry>> ReadTensors(ByteCursor& in, std::size_t n_tensors) {
  std::vector<GgufEntry> entries(n_tensors);
  for (GgufEntry& entry : entries) {
    LATTICE_TRY(entry.name, in.String("a tensor's name"));
    LATTICE_TRY_VOID(CheckName("tensor name", entry.name));
    if (entry.name.size() > kMaxGgufNameBytes) {
      return Corrupt("tensor name " + Quoted(entry.name) + " of " +
                     std::to_string(entry.name.size()) + " bytes; at most " +
                     std::to_string(kMaxGgufNameBytes) + " are allowed");
    }
    auto status = ReadTensor(in, entry);
    if (!status) return InTensor(entry.name, std::move(status).error());
  }
  LATTICE_TRY_VOID(CheckNames(entries));
  return entries;
}

}  // namespace

Result<GgufHeader> ParseGgufHeader(std::span<const std::byte> file) {
  ByteCursor in(file);
  GgufHeader header;
  LATTICE_TRY_VOID(CheckMagic(in));
  LATTICE_TRY(header.version, ReadVersion(in));
  LATTICE_TRY(const std::size_t n_tensors,
              ReadCount(in, "the number of tensors", kMaxGgufTensors, kMinTensorBytes));
  LATTICE_TRY(const std::size_t n_pairs,
              ReadCount(in, "the number of keys", kMaxGgufPairs, kMinPairBytes));
  GgufMetadata::Values values;
  ValueReader reader(in);
  for (std::size_t i = 0; i < n_pairs; ++i) LATTICE_TRY_VOID(ReadPair(in, reader, values));
  header.metadata = GgufMetadata(std::move(values));
  LATTICE_TRY(header.alignment, ReadAlignment(header.metadata));
  LATTICE_TRY(header.entries, ReadTensors(in, n_tensors));
  const auto data_begin = RoundUp(in.offset(), header.alignment);
  if (!data_begin) return Corrupt("the data begin beyond 2^64");
  LATTICE_TRY_VOID(PlaceTensors(header.entries, *data_begin, header.alignment, file.size()));
  return header;
}

}  // namespace lattice::weights
