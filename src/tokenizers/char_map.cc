#include <array>
#include <cstdint>
#include <utility>

#include "base/utf8.h"
#include "tokenizers/char_map_blob.h"
#include "tokenizers/normalizer.h"
#include "tokenizers/unicode.h"

namespace lattice::tokenizers {
namespace {

// Clusters of this many bytes or more are read code point by code point.
constexpr std::size_t kLongCluster = 6;

// Writes an edit in the reference's accounting: code points that vanish count for the one before
// them, and at the start of a text for none, so that all that follows is off by as many.
class CharMapEdit {
 public:
  explicit CharMapEdit(AlignedText& text) : edit_(text) {}
  ~CharMapEdit() { Flush(); }
  CharMapEdit(const CharMapEdit&) = delete;
  CharMapEdit& operator=(const CharMapEdit&) = delete;

  std::size_t n_written() const { return edit_.n_written(); }

  void Keep(std::string_view part) {
    if (part.empty()) return;
    Flush();
    if (!lags_) {
      edit_.Keep(part.size());
      return;
    }
    for (; !part.empty(); part.remove_prefix(DecodeUtf8(part).n_bytes)) {
      edit_.Put(DecodeUtf8(part).scalar, 0);
    }
  }

  void Replace(std::string_view old_part, std::string_view new_part) {
    int n_old = CountScalars(old_part), n_new = CountScalars(new_part);
    if (n_new == 0) {
      Vanish(n_old);
      return;
    }
    Flush();
    for (int i = 0; i < n_new; ++i) {
      const Utf8Step step = DecodeUtf8(new_part);
      const int change = i >= n_old ? 1 : i + 1 == n_new ? n_new - n_old : 0;
      new_part.remove_prefix(step.n_bytes);
      if (i + 1 == n_new) {
        last_ = {step.scalar, change};
        has_last_ = true;
      } else {
        edit_.Put(step.scalar, change);
      }
    }
  }

 private:
  struct Change {
    char32_t c;
    int change;
  };

  void Vanish(int n_old) {
    if (has_last_) {
      last_.change -= n_old;
    } else if (edit_.n_written() == 0) {
      lags_ = true;
    } else {
      edit_.Skip(n_old);
    }
  }

  void Flush() {
    if (has_last_) edit_.Put(last_.c, last_.change);
    has_last_ = false;
  }

  static int CountScalars(std::string_view part) {
    int n = 0;
    for (; !part.empty(); ++n) part.remove_prefix(DecodeUtf8(part).n_bytes);
    return n;
  }

  TextEdit edit_;
  Change last_{};  // The last code point of a replacement, while its change may still grow.
  bool has_last_ = false;
  bool lags_ = false;
};

class CharMap : public Normalizer {
 public:
  explicit CharMap(CharMapBlob map) : map_(std::move(map)) {
    for (std::size_t c = 0; c < 128; ++c) {
      const char byte = static_cast<char>(c);
      // A carriage return joins a line feed in one cluster.
      stays_[c] = byte != '\r' && !map_.Find({&byte, 1}, /*longest=*/false).has_value();
    }
  }

  Status Apply(AlignedText& text) const override {
    const std::string_view all = text.view();
    std::size_t at = SkipPlain(all, 0);
    if (at == all.size()) return Ok();
    CharMapEdit edit(text);
    edit.Keep(all.substr(0, at));
    while (at < all.size()) {
      at += ReadCluster(all.substr(at), edit);
      const std::size_t end = SkipPlain(all, at);
      edit.Keep(all.substr(at, end - at));
      at = end;
      LATTICE_TRY_VOID(CheckTextSize(edit.n_written()));
    }
    return Ok();
  }

 private:
  // Past ASCII characters that are clusters by themselves and stay as they are.
  std::size_t SkipPlain(std::string_view all, std::size_t at) const {
    const auto plain = [&](std::size_t i) {
      const auto byte = static_cast<unsigned char>(all[i]);
      return byte < 0x80 && stays_[byte];
    };
    while (at < all.size() && plain(at)) {
      // What follows may be a mark that makes one cluster of both.
      if (at + 1 < all.size() && static_cast<unsigned char>(all[at + 1]) >= 0x80) break;
      ++at;
    }
    return at;
  }

  std::size_t ReadCluster(std::string_view rest, CharMapEdit& edit) const {
    const std::size_t length = GraphemeLength(rest);
    const std::string_view cluster = rest.substr(0, length);
    if (length < kLongCluster && TryReplace(cluster, edit)) return length;
    for (std::size_t at = 0; at < length;) {
      const std::string_view part = cluster.substr(at, DecodeUtf8(cluster.substr(at)).n_bytes);
      if (!TryReplace(part, edit)) edit.Keep(part);
      at += part.size();
    }
    return length;
  }

  // Replaces the whole of `part` by what its shortest prefix in the map stands for.
  bool TryReplace(std::string_view part, CharMapEdit& edit) const {
    const auto match = map_.Find(part, /*longest=*/false);
    if (match) edit.Replace(part, match->replacement);
    return match.has_value();
  }

  CharMapBlob map_;
  std::array<bool, 128> stays_{};
};

}  // namespace

Result<std::unique_ptr<Normalizer>> MakeCharMap(std::string_view blob) {
  LATTICE_TRY(CharMapBlob map, CharMapBlob::Parse(blob));
  return std::unique_ptr<Normalizer>(std::make_unique<CharMap>(std::move(map)));
}

}  // namespace lattice::tokenizers
