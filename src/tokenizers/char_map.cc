#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "tokenizers/char_map_blob.h"
#include "tokenizers/normalizer.h"
#include "tokenizers/unicode.h"

namespace lattice::tokenizers {
namespace {

// Clusters of this many bytes or more are read code point by code point.
constexpr std::size_t kLongCluster = 6;

class CharMap : public Normalizer {
 public:
  explicit CharMap(CharMapBlob map) : map_(std::move(map)) {}

  Status Apply(AlignedText& text) const override {
    Changes changes;
    bool changed = false;
    const std::string_view all = text.view();
    for (std::size_t at = 0; at < all.size();) {
      at += ReadCluster(all.substr(at), changes, changed);
    }
    if (!changed) return Ok();
    TextEdit edit(text);
    for (const auto& [c, change] : changes) edit.Put(c, change);
    return Ok();
  }

 private:
  using Changes = std::vector<std::pair<char32_t, int>>;

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
    const auto match = map_.Find(part, /*longest=*/false);
    if (match) Append(part, match->replacement, changes);
    return match.has_value();
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

  CharMapBlob map_;
};

}  // namespace

Result<std::unique_ptr<Normalizer>> MakeCharMap(std::string_view blob) {
  LATTICE_TRY(CharMapBlob map, CharMapBlob::Parse(blob));
  return std::unique_ptr<Normalizer>(std::make_unique<CharMap>(std::move(map)));
}

}  // namespace lattice::tokenizers
