#include "tokenizers/char_map_blob.h"

#include "base/utf8.h"

namespace lattice::tokenizers {
namespace {

std::uint32_t ReadWord(std::string_view blob, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value |= std::uint32_t{static_cast<std::uint8_t>(blob[at + i])} << (8 * i);
  }
  return value;
}

// The distance to a node's children.
std::size_t OffsetOf(std::uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); }

}  // namespace

Result<CharMapBlob> CharMapBlob::Parse(std::string_view blob) {
  if (blob.size() < 4) {
    return Error{ErrorCode::kCorruptData,
                 "character map of " + std::to_string(blob.size()) + " bytes has no size field"};
  }
  const std::size_t n_bytes = ReadWord(blob, 0);
  if (n_bytes % 4 != 0 || n_bytes > blob.size() - 4) {
    return Error{ErrorCode::kCorruptData, "character map of " + std::to_string(blob.size()) +
                                              " bytes says its trie has " +
                                              std::to_string(n_bytes)};
  }
  CharMapBlob map;
  map.units_.resize(n_bytes / 4);
  for (std::size_t i = 0; i < map.units_.size(); ++i) map.units_[i] = ReadWord(blob, 4 + 4 * i);
  map.replacements_ = blob.substr(4 + n_bytes);
  if (!IsValidUtf8(map.replacements_)) {
    return Error{ErrorCode::kCorruptData, "character map: replacements are not UTF-8"};
  }
  std::size_t length = 0;
  for (const char byte : map.replacements_) {
    length = byte == '\0' ? 0 : length + 1;
    if (length > kMaxReplacementBytes) {
      return Error{ErrorCode::kCorruptData, "character map: a replacement has more than " +
                                                std::to_string(kMaxReplacementBytes) + " bytes"};
    }
  }
  return map;
}

std::optional<CharMapBlob::Match> CharMapBlob::Find(std::string_view text, bool longest) const {
  if (units_.empty()) return std::nullopt;
  std::size_t n_matched = 0;
  std::uint32_t value = 0;
  std::size_t node = OffsetOf(units_[0]);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    if (byte == 0) break;
    node ^= byte;
    if (node >= units_.size() || (units_[node] & 0x800000FFu) != byte) break;
    const bool ends_key = (units_[node] >> 8 & 1) != 0;
    node ^= OffsetOf(units_[node]);
    if (!ends_key) continue;
    if (node >= units_.size()) break;
    n_matched = i + 1;
    value = units_[node] & 0x7FFFFFFFu;
    if (!longest) break;
  }
  // An offset into the middle of a character, or a key that ends in one, is a broken map.
  if (n_matched == 0 || value > replacements_.size()) return std::nullopt;
  const std::string_view rest = std::string_view(replacements_).substr(value);
  const std::string_view replacement = rest.substr(0, rest.find('\0'));
  if (!IsValidUtf8(replacement) || !IsValidUtf8(text.substr(0, n_matched))) return std::nullopt;
  return Match{n_matched, replacement};
}

}  // namespace lattice::tokenizers
