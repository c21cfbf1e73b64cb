#include "weights/safetensors_writer.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/checked_math.h"
#include "base/utf8.h"
#include "weights/json_scanner.h"
#include "weights/safetensors_header.h"

namespace lattice::weights {
namespace {

constexpr std::size_t kHeaderAlignment = 8;

Error Invalid(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message)};
}

std::string JsonText(std::string_view text) {
  return boost::json::serialize(boost::json::string(text));
}

Status CheckText(std::string_view what, std::string_view text) {
  if (IsValidUtf8(text) && text.find('\0') == std::string_view::npos) return Ok();
  return Invalid(std::string(what) + " " + Quoted(text) + " is not UTF-8, or holds U+0000");
}

Status CheckSpecs(std::span<const TensorSpec> tensors) {
  std::vector<std::string_view> names;
  for (const TensorSpec& tensor : tensors) {
    LATTICE_TRY_VOID(CheckText("tensor name", tensor.name));
    if (tensor.name == "__metadata__") return Invalid("'__metadata__' cannot name a tensor");
    if (tensor.shape.size() > kMaxTensorRank) {
      return Invalid("tensor " + Quoted(tensor.name) + " has " +
                     std::to_string(tensor.shape.size()) + " dimensions, above the limit of " +
                     std::to_string(kMaxTensorRank));
    }
    if (IsBlock(tensor.dtype)) {
      return Invalid("tensor " + Quoted(tensor.name) + ": safetensors files hold no " +
                     std::string(DtypeName(tensor.dtype)));
    }
    names.push_back(tensor.name);
  }
  std::ranges::sort(names);
  const auto repeated = std::ranges::adjacent_find(names);
  if (repeated != names.end()) return Invalid("tensor " + Quoted(*repeated) + " is given twice");
  return Ok();
}

std::string EntryText(const TensorSpec& tensor, std::size_t begin, std::size_t end) {
  std::string shape;
  for (const std::size_t n : tensor.shape) shape += (shape.empty() ? "" : ",") + std::to_string(n);
  return JsonText(tensor.name) + ":{\"dtype\":\"" + std::string(DtypeName(tensor.dtype)) +
         "\",\"shape\":[" + shape + "],\"data_offsets\":[" + std::to_string(begin) + "," +
         std::to_string(end) + "]}";
}

struct Header {
  std::string text;  // with the length before it, padded so that the data are aligned
  std::size_t n_data_bytes = 0;
};

Result<Header> MakeHeader(std::span<const TensorSpec> tensors,
                          const std::map<std::string, std::string>& metadata) {
  std::string json;
  for (const auto& [key, value] : metadata) {
    LATTICE_TRY_VOID(CheckText("metadata key", key));
    LATTICE_TRY_VOID(CheckText("metadata value", value));
    json += (json.empty() ? "" : ",") + JsonText(key) + ":" + JsonText(value);
  }
  if (!json.empty()) json = "\"__metadata__\":{" + json + "}";
  std::size_t begin = 0;
  for (const TensorSpec& tensor : tensors) {
    const auto n_bytes = TensorBytes(tensor.dtype, tensor.shape);
    const auto end = n_bytes ? CheckedAdd(begin, *n_bytes) : std::nullopt;
    if (!end) return Invalid("size of tensor " + Quoted(tensor.name) + " overflows");
    json += (json.empty() ? "" : ",") + EntryText(tensor, begin, *end);
    begin = *end;
  }
  json = "{" + std::move(json) + "}";
  json.resize((json.size() + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment, ' ');
  if (json.size() > kMaxSafetensorsHeaderBytes) {
    return Invalid("header of " + std::to_string(json.size()) + " bytes is above the limit of " +
                   std::to_string(kMaxSafetensorsHeaderBytes));
  }
  std::string length;
  for (int i = 0; i < 8; ++i) {
    length.push_back(static_cast<char>(static_cast<std::uint64_t>(json.size()) >> (8 * i) & 0xFF));
  }
  return Header{length + json, begin};
}

// The tensor that byte `at` of the data belongs to.
std::string_view TensorAt(std::span<const TensorSpec> tensors, std::size_t at) {
  std::size_t end = 0;
  for (const TensorSpec& tensor : tensors) {
    end += TensorBytes(tensor.dtype, tensor.shape).value_or(0);
    if (at < end) return tensor.name;
  }
  return {};
}

}  // namespace

Result<SafetensorsWriter> SafetensorsWriter::Create(
    const std::filesystem::path& file, std::vector<TensorSpec> tensors,
    const std::map<std::string, std::string>& metadata) {
  if (auto status = CheckSpecs(tensors); !status) {
    return std::move(status).error().Within(file.string());
  }
  auto header = MakeHeader(tensors, metadata);
  if (!header) return std::move(header).error().Within(file.string());
  LATTICE_TRY(AtomicFile out, AtomicFile::Create(file));
  LATTICE_TRY_VOID(out.Append(header->text));
  return SafetensorsWriter(file, std::move(out), std::move(tensors), header->n_data_bytes);
}

Status SafetensorsWriter::Append(std::span<const std::byte> bytes) {
  if (bytes.size() > n_bytes_ - n_written_) {
    return Invalid(path_.string() + ": " + std::to_string(bytes.size()) + " bytes where " +
                   std::to_string(n_bytes_ - n_written_) + " are missing");
  }
  LATTICE_TRY_VOID(file_.Append(bytes));
  n_written_ += bytes.size();
  return Ok();
}

Status SafetensorsWriter::Finish() {
  if (n_written_ != n_bytes_) {
    return Invalid(path_.string() + ": tensor " + Quoted(TensorAt(tensors_, n_written_)) +
                   " is unfinished: " + std::to_string(n_written_) + " of " +
                   std::to_string(n_bytes_) + " bytes were given");
  }
  return file_.Commit();
}

}  // namespace lattice::weights
