#include "tokenizers/byte_spelling.h"

#include "base/utf8.h"
#include "tokenizers/byte_alphabet.h"

namespace lattice::tokenizers {

std::optional<std::string> BytesFromAlphabet(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  while (!text.empty()) {
    const Utf8Step step = DecodeUtf8(text);
    const auto byte = ByteAlphabet::ByteOf(step.scalar);
    if (!step.valid || !byte) return std::nullopt;
    bytes.push_back(static_cast<char>(*byte));
    text.remove_prefix(step.n_bytes);
  }
  return bytes;
}

void SpellInByteAlphabet(std::string_view bytes, TextEdit& edit) {
  while (!bytes.empty()) {
    const std::uint32_t n_bytes = DecodeUtf8(bytes).n_bytes;
    for (std::uint32_t i = 0; i < n_bytes; ++i) {
      const char32_t letter = ByteAlphabet::ScalarOf(static_cast<unsigned char>(bytes[i]));
      if (i == 0) {
        edit.Replace(letter);
      } else {
        edit.Insert(letter);
      }
    }
    bytes.remove_prefix(n_bytes);
  }
}

}  // namespace lattice::tokenizers
