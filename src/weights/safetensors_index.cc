#include "weights/safetensors_index.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "weights/json_scanner.h"

namespace lattice::weights {
namespace {

constexpr std::size_t kMaxDepth = 32;

Error Corrupt(std::string message) { return Error{ErrorCode::kCorruptData, std::move(message)}; }

bool IsPlainFileName(std::string_view name) {
  constexpr std::string_view kSuffix = ".safetensors";
  const auto harmful = [](char c) {
    return c == '/' || c == '\\' || c == ':' || static_cast<unsigned char>(c) < 0x20;
  };
  return name.size() > kSuffix.size() && name.size() <= 255 && name.ends_with(kSuffix) &&
         std::ranges::none_of(name, harmful);
}

Status ScanWeightMap(JsonScanner& json, WeightMap& map) {
  const auto scan_member = [&](std::string tensor) -> Status {
    LATTICE_TRY(std::string file, json.String());
    if (!IsPlainFileName(file)) {
      return Corrupt("weight_map: tensor " + Quoted(tensor) + ": " + Quoted(file) +
                     " is not the plain name of a .safetensors file");
    }
    const auto [at, added] = map.emplace(std::move(tensor), std::move(file));
    if (!added) return Corrupt("weight_map: tensor " + Quoted(at->first) + " occurs twice");
    return Ok();
  };
  return ScanObject(json, scan_member);
}

}  // namespace

Result<WeightMap> ParseSafetensorsIndex(std::string_view text) {
  if (text.size() > kMaxSafetensorsIndexBytes) {
    return Corrupt(std::to_string(text.size()) + " bytes are above the limit of " +
                   std::to_string(kMaxSafetensorsIndexBytes));
  }
  if (!IsValidUtf8(text)) return Corrupt("not valid UTF-8");
  WeightMap map;
  bool found = false;
  JsonScanner json(text);
  const auto scan_member = [&](const std::string& key) -> Status {
    if (key != "weight_map") return json.Skip(kMaxDepth);
    if (std::exchange(found, true)) return Corrupt("'weight_map' occurs twice");
    return ScanWeightMap(json, map);
  };
  LATTICE_TRY_VOID(ScanObject(json, scan_member));
  LATTICE_TRY_VOID(json.End());
  if (!found) return Corrupt("missing 'weight_map'");
  if (map.empty()) return Corrupt("'weight_map' is empty");
  return map;
}

}  // namespace lattice::weights
