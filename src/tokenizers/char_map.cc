#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "tokenizers/normalizer.h"
#include "tokenizers/unicode.h"

namespace lattice::tokenizers {
namespace {

// Clusters of this many bytes or more are read code point by code point.
constexpr std::size_t kLongCluster = 6;

// A double-array trie of byte strings (darts-clone's layout). Reads outside the array end a walk.
class DoubleArray {
 public:
  explicit DoubleArray(std::vector<std::uint32_t> units) : units_(std::move(units)) {}

  struct Match {
    std::size_t length;
    std::uint32_t value;
  };

  // The longest key (or the shortest) that `text` starts with.
  std::optional<Match> Find(std::string_view text, bool longest) const {
    std::optional<Match> found;
    if (units_.empty()) return found;
    std::size_t node = Offset(units_[0]);
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte == 0) break;
      node ^= byte;
      if (node >= units_.size() || (units_[node] & 0x800000FFu) != byte) break;
      const bool ends_key = ((units_[node] >> 8) & 1) != 0;
      node ^= Offset(units_[node]);
      if (!ends_key) continue;
      if (node >= units_.size()) break;
      found = Match{i + 1, units_[node] & 0x7FFFFFFFu};
      if (!longest) break;
    }
    return found;
  }

 private:
  static std::size_t Offset(std::uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); }

  std::vector<std::uint32_t> units_;
};

class CharMap : public Normalizer {
 public:
  CharMap(DoubleArray trie, std::string replacements, bool longest)
      : trie_(std::move(trie)), replacements_(std::move(replacements)), longest_(longest) {}

  Status Apply(AlignedText& text) const override {
    Changes changes;
    bool changed = false;
    const std::string_view all = text.view();
    for (std::size_t at = 0; at < all.size();) {
      at += longest_ ? ReadLongest(all.substr(at), changes, changed)
                     : ReadCluster(all.substr(at), changes, changed);
    }
    if (!changed) return Ok();
    TextEdit edit(text);
    for (const auto& [c, change] : changes) edit.Put(c, change);
    return Ok();
  }

 private:
  using Changes = std::vector<std::pair<char32_t, int>>;

  std::optional<std::string_view> ReplacementAt(std::uint32_t offset) const {
    if (offset > replacements_.size()) return std::nullopt;
    const std::string_view rest = std::string_view(replacements_).substr(offset);
    return rest.substr(0, rest.find('\0'));
  }

  std::size_t ReadCluster(std::string_view rest, Changes& changes, bool& changed) const {
    const std::size_t length = GraphemeLength(rest);
    const std::string_view cluster = rest.substr(0, length);
    if (length < kLongCluster && TryReplace(cluster, changes)) {
      changed = true;
      return length;
    }
    for (std::size_t at = 0; at < length;) {
      const Utf8Step step = DecodeUtf8(cluster.substr(at));
      if (TryReplace(cluster.substr(at, step.n_bytes), changes)) {
        changed = true;
      } else {
        changes.emplace_back(step.scalar, 0);
      }
      at += step.n_bytes;
    }
    return length;
  }

  // Replaces the whole of `part` by what its shortest prefix in the map stands for.
  bool TryReplace(std::string_view part, Changes& changes) const {
    const auto match = trie_.Find(part, /*longest=*/false);
    const auto replacement = match ? ReplacementAt(match->value) : std::nullopt;
    if (replacement) Append(part, *replacement, changes);
    return replacement.has_value();
  }

  std::size_t ReadLongest(std::string_view rest, Changes& changes, bool& changed) const {
    const auto match = trie_.Find(rest, /*longest=*/true);
    const auto replacement = match ? ReplacementAt(match->value) : std::nullopt;
    if (replacement && IsValidUtf8(rest.substr(0, match->length))) {
      Append(rest.substr(0, match->length), *replacement, changes);
      changed = true;
      return match->length;
    }
    const Utf8Step step = DecodeUtf8(rest);
    changes.emplace_back(step.scalar, 0);
    return step.n_bytes;
  }

  // Additions count from the end; what is missing counts for the code point before.
  static void Append(std::string_view old_part, std::string_view new_part, Changes& changes) {
    int n_old = 0, n_new = 0;
    for (; !old_part.empty(); ++n_old) old_part.remove_prefix(DecodeUtf8(old_part).n_bytes);
    const std::size_t first = changes.size();
    for (; !new_part.empty(); ++n_new) {
      const Utf8Step step = DecodeUtf8(new_part);
      changes.emplace_back(step.scalar, 0);
      new_part.remove_prefix(step.n_bytes);
    }
    for (int i = n_old; i < n_new; ++i) changes[first + static_cast<std::size_t>(i)].second = 1;
    if (n_new < n_old && !changes.empty()) changes.back().second += n_new - n_old;
  }

  DoubleArray trie_;
  std::string replacements_;
  bool longest_;
};

}  // namespace

Result<std::unique_ptr<Normalizer>> MakeCharMap(std::string_view blob, bool longest) {
  const auto read = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      value |= static_cast<std::uint32_t>(static_cast<unsigned char>(blob[at + i])) << (8 * i);
    }
    return value;
  };
  if (blob.size() < 4) {
    return Error{ErrorCode::kCorruptData,
                 "character map of " + std::to_string(blob.size()) + " bytes has no size field"};
  }
  const std::size_t n_bytes = read(0);
  if (n_bytes % 4 != 0 || n_bytes > blob.size() - 4) {
    return Error{ErrorCode::kCorruptData, "character map of " + std::to_string(blob.size()) +
                                              " bytes says its trie has " +
                                              std::to_string(n_bytes)};
  }
  std::vector<std::uint32_t> units(n_bytes / 4);
  for (std::size_t i = 0; i < units.size(); ++i) units[i] = read(4 + 4 * i);
  const std::string_view replacements = blob.substr(4 + n_bytes);
  if (!IsValidUtf8(replacements)) {
    return Error{ErrorCode::kCorruptData, "character map: replacements are not UTF-8"};
  }
  return std::unique_ptr<Normalizer>(
      std::make_unique<CharMap>(DoubleArray(std::move(units)), std::string(replacements), longest));
}

}  // namespace lattice::tokenizers
