#pragma once

#include <string>
#include <string_view>

#include "base/utf8.h"

namespace lattice::tokenizers {

/// How many of the first bytes can be read without knowing what follows `bytes`: all, but for a
/// character that has only begun at their end (at most 3 bytes).
inline std::size_t CompleteUtf8Length(std::string_view bytes) {
  std::size_t begin = bytes.size();
  for (int i = 0; i < 3 && begin > 0; ++i) {
    --begin;
    const auto byte = static_cast<unsigned char>(bytes[begin]);
    if ((byte & 0xC0) == 0x80) continue;
    const bool leads = byte >= 0xC2 && byte <= 0xF4;
    const Utf8Step step = DecodeUtf8(bytes.substr(begin));
    const bool begun = leads && !step.valid && step.n_bytes == bytes.size() - begin;
    return begun ? begin : bytes.size();
  }
  return bytes.size();
}

/// Bytes that come in pieces, as text: what ToValidUtf8 makes of all of them together, each
/// character as soon as it is whole.
class Utf8Assembler {
 public:
  /// Appends to `text` what is certain.
  void Push(std::string_view bytes, std::string& text) {
    held_ += bytes;
    const std::size_t n = CompleteUtf8Length(held_);
    text += ToValidUtf8(std::string_view(held_).substr(0, n));
    held_.erase(0, n);
  }
  /// The bytes end here: what was begun is U+FFFD.
  void Finish(std::string& text) {
    text += ToValidUtf8(held_);
    held_.clear();
  }

 private:
  std::string held_;
};

}  // namespace lattice::tokenizers
