#include "weights/safetensors_header.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

#include "base/checked_math.h"
#include "base/utf8.h"
#include "weights/json_scanner.h"

namespace lattice::weights {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::string_view kMetadataKey = "__metadata__";

// In the published definition, but without a meaning here: scales and elements below one byte,
// complex numbers.
constexpr std::string_view kUnreadDtypes[] = {"F4",          "F6_E2M3",     "F6_E3M2", "F8_E8M0",
                                              "F8_E4M3FNUZ", "F8_E5M2FNUZ", "C64"};
constexpr Dtype kReadDtypes[] = {Dtype::kF64,    Dtype::kF32,    Dtype::kF16, Dtype::kBf16,
                                 Dtype::kF8E4M3, Dtype::kF8E5M2, Dtype::kI64, Dtype::kI32,
                                 Dtype::kI16,    Dtype::kI8,     Dtype::kU64, Dtype::kU32,
                                 Dtype::kU16,    Dtype::kU8,     Dtype::kBool};

Error Corrupt(std::string message) { return Error{ErrorCode::kCorruptData, std::move(message)}; }

Error InTensor(std::string_view name, Error error) {
  return std::move(error).Within("tensor " + Quoted(name));
}

// A hint for the commonest mistake: another format under this extension.
std::string LooksLike(std::string_view file) {
  if (file.starts_with("GGUF")) return " (it begins like a GGUF file)";
  if (file.starts_with("PK\x03\x04")) return " (it begins like a PyTorch or zip file)";
  if (file.starts_with("version https://git-lfs")) return " (it is a Git LFS pointer)";
  return "";
}

Result<std::string_view> HeaderText(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (file.size() < kLengthBytes) {
    return Corrupt("has " + std::to_string(file.size()) +
                   " bytes, too few for the 8 bytes of a header length");
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= std::to_integer<std::uint64_t>(file[i]) << (8 * i);
  }
  if (length > kMaxSafetensorsHeaderBytes) {
    return Corrupt("header length " + std::to_string(length) + " is above the limit of " +
                   std::to_string(kMaxSafetensorsHeaderBytes) + LooksLike(text));
  }
  if (length > file.size() - kLengthBytes) {
    return Corrupt("header length " + std::to_string(length) + " is more than the " +
                   std::to_string(file.size() - kLengthBytes) + " bytes that follow it");
  }
  const std::string_view header = text.substr(kLengthBytes, static_cast<std::size_t>(length));
  if (!IsValidUtf8(header)) return Corrupt("header is not valid UTF-8");
  return header;
}

Result<Dtype> DtypeOf(std::string_view name) {
  for (const Dtype dtype : kReadDtypes) {
    if (DtypeName(dtype) == name) return dtype;
  }
  if (std::ranges::find(kUnreadDtypes, name) != std::end(kUnreadDtypes)) {
    return Error{ErrorCode::kUnsupported, "dtype " + std::string(name) + " is not supported"};
  }
  std::string known;
  for (const Dtype dtype : kReadDtypes) {
    known += (known.empty() ? "" : ", ") + std::string(DtypeName(dtype));
  }
  return Corrupt("unknown dtype " + Quoted(name) + "; known: " + known);
}

Result<std::vector<std::size_t>> ScanShape(JsonScanner& json) {
  std::vector<std::size_t> shape;
  const auto scan_dimension = [&]() -> Status {
    LATTICE_TRY(const std::uint64_t n, json.Unsigned());
    if (shape.size() == kMaxTensorRank) {
      return Error{ErrorCode::kUnsupported,
                   "more than " + std::to_string(kMaxTensorRank) + " dimensions"};
    }
    shape.push_back(n);
    return Ok();
  };
  LATTICE_TRY_VOID(ScanArray(json, scan_dimension));
  shape.shrink_to_fit();
  return shape;
}

Result<std::array<std::size_t, 2>> ScanOffsets(JsonScanner& json) {
  std::array<std::size_t, 2> offsets = {};
  LATTICE_TRY_VOID(json.Expect('['));
  LATTICE_TRY(offsets[0], json.Unsigned());
  LATTICE_TRY_VOID(json.Expect(','));
  LATTICE_TRY(offsets[1], json.Unsigned());
  LATTICE_TRY_VOID(json.Expect(']'));
  return offsets;
}

// The object {"dtype": ..., "shape": ..., "data_offsets": ...}, each key once, in any order.
Status ScanEntry(JsonScanner& json, SafetensorsEntry& entry) {
  std::optional<Dtype> dtype;
  std::optional<std::vector<std::size_t>> shape;
  std::optional<std::array<std::size_t, 2>> offsets;
  const auto scan_member = [&](const std::string& key) -> Status {
    if ((key == "dtype" && dtype) || (key == "shape" && shape) ||
        (key == "data_offsets" && offsets)) {
      return Corrupt("repeated key '" + key + "'");
    }
    if (key == "dtype") {
      LATTICE_TRY(const std::string name, json.String());
      LATTICE_TRY(dtype, DtypeOf(name));
    } else if (key == "shape") {
      LATTICE_TRY(shape, ScanShape(json));
    } else if (key == "data_offsets") {
      LATTICE_TRY(offsets, ScanOffsets(json));
    } else {
      return Corrupt("unknown key " + Quoted(key));
    }
    return Ok();
  };
  LATTICE_TRY_VOID(ScanObject(json, scan_member));
  if (!dtype) return Corrupt("missing 'dtype'");
  if (!shape) return Corrupt("missing 'shape'");
  if (!offsets) return Corrupt("missing 'data_offsets'");
  entry.dtype = *dtype;
  entry.shape = *std::move(shape);
  entry.begin = (*offsets)[0];
  entry.end = (*offsets)[1];
  return Ok();
}

Status ScanMetadata(JsonScanner& json, std::map<std::string, std::string>& metadata) {
  return ScanObject(json, [&](std::string key) -> Status {
    LATTICE_TRY(std::string value, json.String());
    const auto [at, added] = metadata.emplace(std::move(key), std::move(value));
    if (!added) return Corrupt("repeated key " + Quoted(at->first));
    return Ok();
  });
}

Status CheckSize(const SafetensorsEntry& entry) {
  const auto n_bytes = TensorBytes(entry.dtype, entry.shape);
  const std::string shape(DtypeName(entry.dtype));
  if (!n_bytes) return Corrupt("size of " + shape + " " + ShapeText(entry.shape) + " overflows");
  if (entry.end < entry.begin || entry.end - entry.begin != *n_bytes) {
    return Corrupt("data_offsets [" + std::to_string(entry.begin) + ", " +
                   std::to_string(entry.end) + "] do not span the " + std::to_string(*n_bytes) +
                   " bytes of " + shape + " " + ShapeText(entry.shape));
  }
  return Ok();
}

// Sorting costs n log n whatever the names are; a hash table can be driven into n^2.
Status CheckNames(const std::vector<SafetensorsEntry>& entries) {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const SafetensorsEntry& entry : entries) names.push_back(entry.name);
  std::ranges::sort(names);
  const auto repeated = std::ranges::adjacent_find(names);
  if (repeated != names.end()) return Corrupt("tensor " + Quoted(*repeated) + " occurs twice");
  return Ok();
}

// No holes, no overlaps, nothing after the last: what is not described could be anything.
Status CheckTiling(std::vector<SafetensorsEntry>& entries, std::size_t n_data_bytes) {
  std::ranges::sort(entries, {}, [](const SafetensorsEntry& e) {
    return std::tuple(e.begin, e.end, std::string_view(e.name));
  });
  std::size_t end = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != end) {
      return InTensor(entry.name,
                      Corrupt("begins at byte " + std::to_string(entry.begin) +
                              " of the data; the tensor before it ends at " + std::to_string(end)));
    }
    end = entry.end;
    if (end > n_data_bytes) {
      return InTensor(entry.name, Corrupt("ends at byte " + std::to_string(end) +
                                          " of the data, but the file has only " +
                                          std::to_string(n_data_bytes) + ": is it truncated?"));
    }
  }
  if (end != n_data_bytes) {
    return Corrupt("tensors end at byte " + std::to_string(end) + " of the data, but " +
                   std::to_string(n_data_bytes - end) + " more bytes follow");
  }
  return Ok();
}

}  // namespace

Result<SafetensorsHeader> ParseSafetensorsHeader(std::span<const std::byte> file) {
  LATTICE_TRY(const std::string_view text, HeaderText(file));
  SafetensorsHeader header;
  header.data_begin = kLengthBytes + text.size();
  bool has_metadata = false;
  JsonScanner json(text);
  const auto scan_member = [&](std::string name) -> Status {
    if (name == kMetadataKey) {
      if (std::exchange(has_metadata, true)) return Corrupt("'__metadata__' occurs twice");
      auto status = ScanMetadata(json, header.metadata);
      if (!status) return std::move(status).error().Within("__metadata__");
      return Ok();
    }
    SafetensorsEntry entry;
    entry.name = std::move(name);
    auto status = ScanEntry(json, entry);
    if (status) status = CheckSize(entry);
    if (!status) return InTensor(entry.name, std::move(status).error());
    header.entries.push_back(std::move(entry));
    return Ok();
  };
  LATTICE_TRY_VOID(ScanObject(json, scan_member));
  LATTICE_TRY_VOID(json.End());
  LATTICE_TRY_VOID(CheckNames(header.entries));
  LATTICE_TRY_VOID(CheckTiling(header.entries, file.size() - header.data_begin));
  return header;
}

std::optional<std::size_t> TensorBytes(Dtype dtype, std::span<const std::size_t> shape) {
  std::size_t n_elements = 1;
  bool empty = false;
  for (const std::size_t n : shape) {
    if (n == 0) {
      empty = true;
      continue;
    }
    const auto product = CheckedMul(n_elements, n);
    if (!product) return std::nullopt;
    n_elements = *product;
  }
  const BlockLayout layout = LayoutOf(dtype);
  const auto n_bytes = CheckedMul(n_elements / layout.elements, layout.bytes);
  if (!n_bytes || n_elements % layout.elements != 0) return std::nullopt;
  return empty ? 0 : *n_bytes;
}

std::string ShapeText(std::span<const std::size_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

}  // namespace lattice::weights
