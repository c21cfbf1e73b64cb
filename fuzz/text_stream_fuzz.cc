#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "decoding/text_stream.h"
#include "lattice/check.h"
#include "tokenizers/tokenizer.h"

namespace {

using lattice::TokenId;
using lattice::decoding::TextStream;
using lattice::tokenizers::Tokenizer;

// One tokenizer for each way to decode. Their tokens are parts of characters, of words and of
// stop strings.
constexpr std::string_view kFiles[] = {
    R"({"decoder": {"type": "ByteLevel"}, "added_tokens": [{"id": 8, "content": "é", "special": true}],
        "model": {"type": "BPE", "merges": [], "vocab": {"a": 0, "Ġa": 1, "ðŁ": 2, "ĺ": 3, "Ģ": 4,
            "Ã": 5, "©": 6, "ab": 7}}})",
    R"({"decoder": {"type": "Sequence", "decoders": [
          {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
          {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 1}]},
        "model": {"type": "BPE", "merges": [], "vocab": {"a": 0, "▁": 1, "▁a": 2, "<0xC3>": 3,
            "<0xA9>": 4, "<0x61>": 5, "<0xF0>": 6, "b": 7}}})",
    R"({"decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {"type": "WordPiece", "vocab": {"a": 0, "##a": 1, "##b": 2, "'": 3, "n't": 4, "!": 5,
            "do not": 6, "é": 7}}})",
    R"({"decoder": {"type": "Metaspace", "prepend_scheme": "first"},
        "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["▁", 0], ["▁a", -2],
            ["a", -3], ["b▁", -3], ["é", -4], ["▁▁", -5]]}})",
    R"({"model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0, "b": 1, "": 2, "é": 3}}})",
    R"({"decoder": {"type": "BPEDecoder", "suffix": "</w>"},
        "model": {"type": "BPE", "merges": [], "vocab": {"a": 0, "a</w>": 1, "b</w>": 2, "é": 3}}})",
};

std::vector<std::shared_ptr<const Tokenizer>> LoadAll() {
  std::vector<std::shared_ptr<const Tokenizer>> tokenizers;
  for (const std::string_view file : kFiles) {
    auto tokenizer = Tokenizer::FromJson(file);
    LATTICE_CHECK(tokenizer.has_value());
    tokenizers.push_back(*tokenizer);
  }
  return tokenizers;
}

// Where a text ends by the definition: the first stop string to be complete, of several the
// longest.
std::string Cut(const std::string& text, const std::vector<std::string>& stops) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::size_t longest = 0;
    for (const std::string& stop : stops) {
      const bool complete = std::string_view(text).substr(0, end).ends_with(stop);
      if (complete) longest = std::max(longest, stop.size());
    }
    if (longest > 0) return text.substr(0, end - longest);
  }
  return text;
}

}  // namespace

// The first byte chooses a tokenizer, the second says how many bytes of stop strings follow (cut
// at line breaks); the rest are ids, 0 the stop token.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto kTokenizers = LoadAll();
  if (size < 2 || size > 4096) return 0;
  const auto& tokenizer = kTokenizers[data[0] % kTokenizers.size()];
  const std::size_t n_stop_bytes = std::min<std::size_t>(data[1], size - 2);
  lattice::decoding::TextStreamOptions options{.skip_special_tokens = (data[0] & 128) != 0};
  std::string_view lines(reinterpret_cast<const char*>(data + 2), n_stop_bytes);
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    options.stop_strings.emplace_back(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  options.stop_tokens = {0};
  auto stream = TextStream::Create(tokenizer, options);
  if (!stream) return 0;

  std::vector<TokenId> ids;
  std::string shown;
  auto stop = TextStream::Stop::kNone;
  for (std::size_t i = 2 + n_stop_bytes; i < size && stop == TextStream::Stop::kNone; ++i) {
    const auto id = static_cast<TokenId>(data[i] % tokenizer->vocab_size());
    if (id != 0) ids.push_back(id);
    std::string piece;
    const auto pushed = stream->Push(id, piece);
    LATTICE_CHECK(pushed.has_value() && lattice::IsValidUtf8(piece));
    stop = *pushed;
    shown += piece;
  }
  const auto finished = stream->Finish(shown);
  LATTICE_CHECK(finished.has_value());
  const auto text = tokenizer->Decode(ids, options.skip_special_tokens);
  LATTICE_CHECK(text.has_value());
  LATTICE_CHECK(shown == Cut(*text, options.stop_strings));
  return 0;
}
