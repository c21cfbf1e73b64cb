#include "weights/khq_index.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "base/checked_math.h"
#include "base/json.h"
#include "weights/json_scanner.h"
#include "weights/safetensors_header.h"

namespace lattice::weights {
namespace {

constexpr std::size_t kMaxDepth = 16;
constexpr std::size_t kMaxEntries = std::size_t{1} << 16;  // each is a file to map
constexpr std::int64_t kMaxCount = std::numeric_limits<std::int64_t>::max();
constexpr std::string_view kRunTimeRotations = "v1-online-r3r4";
constexpr std::string_view kResidualRotation = "v0-residual";

bool IsWord(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

bool IsPlainFileName(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || name.size() > 255) return false;
  const std::string_view ending = name.substr(dot);
  return (ending == ".q4" || ending == ".q3" || ending == ".f16") &&
         std::ranges::all_of(name.substr(0, dot), [](char c) { return IsWord(c) || c == '_'; });
}

Status ReadShape(const JsonView& entry, KhqIndexEntry& out) {
  LATTICE_TRY(const JsonView shape, entry.Get("shape"));
  LATTICE_TRY(const std::vector<JsonView> dimensions, shape.Array());
  if (dimensions.size() > kMaxTensorRank) return shape.Complain("too many dimensions");
  std::size_t product = 1;
  for (const JsonView& dimension : dimensions) {
    LATTICE_TRY(const std::int64_t n, dimension.Int(0, kMaxCount));
    out.shape.push_back(static_cast<std::size_t>(n));
    const auto next = CheckedMul(product, out.shape.back());
    if (!next) return shape.Complain("the product of the dimensions overflows");
    product = *next;
  }
  const auto numel = entry.Find("numel");
  if (!numel) return Ok();
  LATTICE_TRY(const std::int64_t n, numel->Int(0, kMaxCount));
  if (static_cast<std::size_t>(n) == product) return Ok();
  return numel->Complain(std::to_string(n) + " elements of shape " + ShapeText(out.shape));
}

Result<KhqIndexEntry> ReadEntry(const JsonView& entry) {
  KhqIndexEntry out;
  LATTICE_TRY(const JsonView name, entry.Get("name"));
  LATTICE_TRY(out.name, name.String());
  if (out.name.empty()) return name.Complain("is empty");
  LATTICE_TRY(const JsonView file, entry.Get("file"));
  LATTICE_TRY(out.file, file.String());
  if (!IsPlainFileName(out.file)) {
    return file.Complain(Quoted(out.file) + " is not the plain name of a .q4, .q3 or .f16 file");
  }
  LATTICE_TRY(const JsonView quantised, entry.Get("quantized"));
  LATTICE_TRY(out.quantised, quantised.Bool());
  if (out.quantised == out.file.ends_with(".f16")) {
    return file.Complain(Quoted(out.file) + " does not fit 'quantized'");
  }
  LATTICE_TRY_VOID(ReadShape(entry, out));
  return out;
}

// Version and run-time parts of a rotated model: only the residual rotation leaves nothing to do.
Status CheckRotation(const JsonView& index) {
  LATTICE_TRY(const std::string version, index.StringOr("artifact_version", kResidualRotation));
  if (version != kResidualRotation && version != kRunTimeRotations) {
    return index.Complain("unknown artifact_version " + Quoted(version));
  }
  if (version == kResidualRotation && !index.Find("online")) return Ok();
  Error error = index.Complain("models that are rotated while they run are not supported");
  error.code = ErrorCode::kUnsupported;
  return error;
}

Result<std::vector<KhqIndexEntry>> ReadEntries(const JsonView& list) {
  LATTICE_TRY(const std::vector<JsonView> items, list.Array());
  if (items.empty()) return list.Complain("is empty");
  if (items.size() > kMaxEntries) return list.Complain("too many tensors");
  std::vector<KhqIndexEntry> entries;
  std::set<std::string, std::less<>> names, files;
  for (const JsonView& item : items) {
    LATTICE_TRY(KhqIndexEntry entry, ReadEntry(item));
    if (!names.insert(entry.name).second) {
      return item.Complain("tensor " + Quoted(entry.name) + " occurs twice");
    }
    if (!files.insert(entry.file).second) {
      return item.Complain("file " + Quoted(entry.file) + " occurs twice");
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

Result<KhqIndex> ParseKhqIndex(std::string_view text) {
  LATTICE_TRY(const boost::json::value document, ParseJson(text, kMaxDepth));
  const JsonView view(document, "index");
  KhqIndex index;
  if (!view.IsObject()) {
    LATTICE_TRY(index.entries, ReadEntries(view));
    return index;
  }
  LATTICE_TRY(const JsonView seed, view.Get("quarot_seed"));
  if (seed.value().is_uint64()) {  // Above 2^63, where JsonView's integers end.
    index.rotation_seed = seed.value().get_uint64();
  } else {
    LATTICE_TRY(const std::int64_t number, seed.Int(0, kMaxCount));
    index.rotation_seed = static_cast<std::uint64_t>(number);
  }
  LATTICE_TRY_VOID(CheckRotation(view));
  LATTICE_TRY(const JsonView tensors, view.Get("tensors"));
  LATTICE_TRY(index.entries, ReadEntries(tensors));
  return index;
}

std::string KhqFileStem(std::string_view tensor_name) {
  std::string stem(tensor_name);
  std::ranges::replace_if(
      stem, [](char c) { return !IsWord(c); }, '_');
  return stem;
}

}  // namespace lattice::weights
