#include <cstddef>
#include <cstdint>
#include <string_view>

#include "check_tokenizer.h"

// The input is a SentencePiece model; what loads is then used.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  const auto tokenizer = lattice::tokenizers::Tokenizer::FromSentencePiece(file);
  if (!tokenizer) return 0;
  for (const std::string_view text : {"", "ab", "  Hello,  w\xC3\xB6rld! <sep>",
                                      "\xE6\x9D\xB1\xE4\xBA\xAC 12 \xFF\n\t", "aaaaaaaaaaaaaaaa"}) {
    lattice::tokenizers::CheckTokenizer(**tokenizer, text);
  }
  return 0;
}
