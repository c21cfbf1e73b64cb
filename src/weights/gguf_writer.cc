#include "weights/gguf_writer.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/checked_math.h"
#include "base/utf8.h"
#include "weights/gguf_header.h"
#include "weights/gguf_types.h"
#include "weights/json_scanner.h"
#include "weights/safetensors_header.h"

namespace lattice::weights {
namespace {

constexpr std::uint32_t kVersion = 3;

Error Invalid(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message)};
}

template <typename T>
std::string Bytes(T value) {
  static_assert(std::endian::native == std::endian::little);
  return std::string(reinterpret_cast<const char*>(&value), sizeof(T));
}

std::string StringBytes(std::string_view text) {
  return Bytes<std::uint64_t>(text.size()) + std::string(text);
}

std::string TypeBytes(GgufType type) { return Bytes(static_cast<std::uint32_t>(type)); }

std::string ArrayBytes(GgufType element, std::size_t n) {
  return TypeBytes(GgufType::kArray) + TypeBytes(element) + Bytes<std::uint64_t>(n);
}

template <typename T>
std::string NumberArray(GgufType element, std::span<const T> values) {
  return ArrayBytes(element, values.size()) +
         std::string(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

std::size_t PaddingAfter(std::size_t n_bytes) {
  return (kDefaultGgufAlignment - n_bytes % kDefaultGgufAlignment) % kDefaultGgufAlignment;
}

Status CheckText(std::string_view what, std::string_view text) {
  if (text.empty()) return Invalid("empty " + std::string(what));
  if (IsValidUtf8(text) && text.find('\0') == std::string_view::npos) return Ok();
  return Invalid(std::string(what) + " " + Quoted(text) + " is not UTF-8, or holds U+0000");
}

Status CheckSpec(const TensorSpec& tensor) {
  LATTICE_TRY_VOID(CheckText("tensor name", tensor.name));
  const std::string name = "tensor " + Quoted(tensor.name);
  if (tensor.name.size() > kMaxGgufNameBytes) {
    return Invalid(name + ": the name is longer than " + std::to_string(kMaxGgufNameBytes) +
                   " bytes");
  }
  if (tensor.shape.size() > kMaxGgufRank) return Invalid(name + " has more than 4 dimensions");
  if (!GgufTensorTypeOf(tensor.dtype)) {
    return Invalid(name + ": GGUF files hold no " + std::string(DtypeName(tensor.dtype)));
  }
  const std::size_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
  if (row % LayoutOf(tensor.dtype).elements != 0) {
    return Invalid(name + ": rows of " + ShapeText(tensor.shape) + " are not whole blocks of " +
                   std::string(DtypeName(tensor.dtype)));
  }
  return Ok();
}

Status CheckRepeated(std::span<const TensorSpec> tensors) {
  std::vector<std::string_view> names;
  for (const TensorSpec& tensor : tensors) names.push_back(tensor.name);
  std::ranges::sort(names);
  const auto repeated = std::ranges::adjacent_find(names);
  if (repeated != names.end()) return Invalid("tensor " + Quoted(*repeated) + " is given twice");
  return Ok();
}

std::string InfoBytes(const TensorSpec& tensor, std::size_t offset) {
  std::string info = StringBytes(tensor.name);
  info += Bytes(static_cast<std::uint32_t>(tensor.shape.size()));
  for (std::size_t i = tensor.shape.size(); i-- > 0;) info += Bytes<std::uint64_t>(tensor.shape[i]);
  info += Bytes(GgufTensorTypeOf(tensor.dtype).value_or(0));
  return info + Bytes<std::uint64_t>(offset);
}

}  // namespace

void GgufPairs::Put(std::string_view key, std::string value) {
  const auto at = std::ranges::find(pairs_, key, &Pair::key);
  if (at != pairs_.end()) {
    at->value = std::move(value);
  } else {
    pairs_.push_back({std::string(key), std::move(value)});
  }
}

void GgufPairs::SetUint32(std::string_view key, std::uint32_t value) {
  Put(key, TypeBytes(GgufType::kU32) + Bytes(value));
}
void GgufPairs::SetInt32(std::string_view key, std::int32_t value) {
  Put(key, TypeBytes(GgufType::kI32) + Bytes(value));
}
void GgufPairs::SetUint64(std::string_view key, std::uint64_t value) {
  Put(key, TypeBytes(GgufType::kU64) + Bytes(value));
}
void GgufPairs::SetFloat(std::string_view key, float value) {
  Put(key, TypeBytes(GgufType::kF32) + Bytes(value));
}
void GgufPairs::SetBool(std::string_view key, bool value) {
  Put(key, TypeBytes(GgufType::kBool) + Bytes<std::uint8_t>(value ? 1 : 0));
}
void GgufPairs::SetString(std::string_view key, std::string_view value) {
  Put(key, TypeBytes(GgufType::kString) + StringBytes(value));
}
void GgufPairs::SetUint32s(std::string_view key, std::span<const std::uint32_t> values) {
  Put(key, NumberArray(GgufType::kU32, values));
}
void GgufPairs::SetInt32s(std::string_view key, std::span<const std::int32_t> values) {
  Put(key, NumberArray(GgufType::kI32, values));
}
void GgufPairs::SetFloats(std::string_view key, std::span<const float> values) {
  Put(key, NumberArray(GgufType::kF32, values));
}
void GgufPairs::SetBools(std::string_view key, const std::vector<bool>& values) {
  std::string bytes = ArrayBytes(GgufType::kBool, values.size());
  for (const bool value : values) bytes.push_back(value ? '\1' : '\0');
  Put(key, std::move(bytes));
}
void GgufPairs::SetStrings(std::string_view key, std::span<const std::string> values) {
  std::string bytes = ArrayBytes(GgufType::kString, values.size());
  for (const std::string& value : values) bytes += StringBytes(value);
  Put(key, std::move(bytes));
}
void GgufPairs::SetBytes(std::string_view key, std::span<const std::byte> values) {
  Put(key, NumberArray(GgufType::kU8, values));
}

void GgufPairs::Set(std::string_view key, const GgufValue& value) {
  std::string bytes = value.type == GgufType::kArray ? ArrayBytes(value.element, value.n_elements)
                                                     : TypeBytes(value.type);
  if (value.type == GgufType::kString) bytes += Bytes<std::uint64_t>(value.bytes.size());
  bytes.append(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size());
  Put(key, std::move(bytes));
}

Result<GgufWriter> GgufWriter::Create(const std::filesystem::path& file, const GgufPairs& pairs,
                                      std::vector<TensorSpec> tensors) {
  std::string header(kGgufMagic);
  header += Bytes(kVersion) + Bytes<std::uint64_t>(tensors.size()) +
            Bytes<std::uint64_t>(pairs.pairs_.size());
  const auto within = [&](Error error) { return std::move(error).Within(file.string()); };
  for (const GgufPairs::Pair& pair : pairs.pairs_) {
    if (auto status = CheckText("key", pair.key); !status) return within(status.error());
    if (pair.key == kGgufAlignmentKey) return within(Invalid("key 'general.alignment' is given"));
    header += StringBytes(pair.key) + pair.value;
  }
  std::vector<std::size_t> sizes;
  std::optional<std::size_t> offset = 0;
  for (const TensorSpec& tensor : tensors) {
    if (auto status = CheckSpec(tensor); !status) return within(status.error());
    header += InfoBytes(tensor, *offset);
    const auto n_bytes = TensorBytes(tensor.dtype, tensor.shape);
    const auto end = n_bytes ? CheckedAdd(*offset, *n_bytes) : std::nullopt;
    offset = end ? CheckedAdd(*end, PaddingAfter(*end)) : std::nullopt;
    if (!offset) return within(Invalid("size of tensor " + Quoted(tensor.name) + " overflows"));
    sizes.push_back(*n_bytes);
  }
  if (auto status = CheckRepeated(tensors); !status) return within(status.error());
  header.append(PaddingAfter(header.size()), '\0');
  LATTICE_TRY(AtomicFile out, AtomicFile::Create(file));
  LATTICE_TRY_VOID(out.Append(header));
  GgufWriter writer(file, std::move(out), std::move(tensors), std::move(sizes));
  LATTICE_TRY_VOID(writer.EndFinishedTensors());
  return writer;
}

// Steps over tensors whose bytes are complete, and pads them.
Status GgufWriter::EndFinishedTensors() {
  while (tensor_ < sizes_.size() && n_written_ == sizes_[tensor_]) {
    LATTICE_TRY_VOID(file_.Append(std::string(PaddingAfter(n_written_), '\0')));
    ++tensor_;
    n_written_ = 0;
  }
  return Ok();
}

Status GgufWriter::Append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (tensor_ == sizes_.size()) {
      return Invalid(path_.string() + ": " + std::to_string(bytes.size()) +
                     " bytes more than the tensors have");
    }
    const std::size_t n = std::min(bytes.size(), sizes_[tensor_] - n_written_);
    LATTICE_TRY_VOID(file_.Append(bytes.first(n)));
    bytes = bytes.subspan(n);
    n_written_ += n;
    LATTICE_TRY_VOID(EndFinishedTensors());
  }
  return Ok();
}

Status GgufWriter::Finish() {
  if (tensor_ != sizes_.size()) {
    return Invalid(path_.string() + ": tensor " + Quoted(tensors_[tensor_].name) +
                   " is unfinished: " + std::to_string(n_written_) + " of " +
                   std::to_string(sizes_[tensor_]) + " bytes were given");
  }
  return file_.Commit();
}

}  // namespace lattice::weights
