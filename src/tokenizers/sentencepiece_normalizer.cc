#include "tokenizers/sentencepiece_normalizer.h"

#include "base/utf8.h"

namespace lattice::tokenizers {
namespace {

constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";  // U+2581
constexpr std::size_t kMaxOutputBytes = std::size_t{1} << 30;

}  // namespace

// Appends text with spaces spelled as the file wants them, each byte with its origin.
class SentencePieceNormalizer::Writer {
 public:
  Writer(std::string_view space, bool with_origins, Output& result)
      : space_(space), with_origins_(with_origins), result_(result) {}

  void Put(std::string_view text, std::size_t origin) {
    for (const char byte : text) {
      if (byte == ' ') {
        result_.text += space_;
      } else {
        result_.text += byte;
      }
    }
    if (with_origins_) {
      result_.origins.resize(result_.text.size(), static_cast<std::uint32_t>(origin));
    }
  }

 private:
  std::string_view space_;
  bool with_origins_;
  Output& result_;
};

std::size_t LongestPrefix(const Trie& trie, std::string_view text) {
  std::size_t longest = 0;
  Trie::Node node = Trie::kRoot;
  for (std::size_t i = 0; i < text.size(); ++i) {
    node = trie.Child(node, text[i]);
    if (node == Trie::kNone) break;
    if (trie.Id(node) >= 0) longest = i + 1;
  }
  return longest;
}

SentencePieceNormalizer::Step SentencePieceNormalizer::NextStep(std::string_view rest) const {
  if (const std::size_t n = LongestPrefix(user_defined_, rest); n > 0) {
    return {rest.substr(0, n), n};
  }
  if (const auto match = spec_.char_map.Find(rest, /*longest=*/true)) {
    return {match->replacement, match->n_bytes};
  }
  const std::size_t n = DecodeUtf8(rest).n_bytes;
  return {rest.substr(0, n), n};
}

Status SentencePieceNormalizer::Run(std::string_view input, bool with_origins,
                                    Output& result) const {
  result.text.clear();
  result.origins.clear();
  const std::string_view space = spec_.escape_whitespaces ? kSpaceSymbol : " ";
  Writer writer(space, with_origins, result);
  std::size_t consumed = 0;
  if (spec_.remove_extra_whitespaces) {
    while (consumed < input.size()) {
      const Step step = NextStep(input.substr(consumed));
      if (step.text != " ") break;
      consumed += step.n_consumed;
    }
  }
  if (consumed == input.size()) {
    if (with_origins) result.origins.push_back(static_cast<std::uint32_t>(consumed));
    return Ok();
  }

  if (!whitespace_is_suffix_ && spec_.add_dummy_prefix) writer.Put(" ", consumed);
  bool after_space = spec_.remove_extra_whitespaces;
  while (consumed < input.size()) {
    Step step = NextStep(input.substr(consumed));
    while (after_space && step.text.starts_with(' ')) step.text.remove_prefix(1);
    if (!step.text.empty()) {
      writer.Put(step.text, consumed);
      after_space = spec_.remove_extra_whitespaces && step.text.ends_with(' ');
    }
    consumed += step.n_consumed;
    if (result.text.size() > kMaxOutputBytes) {
      return Error{ErrorCode::kResourceExhausted, "the normalised text has more than " +
                                                      std::to_string(kMaxOutputBytes) + " bytes"};
    }
  }
  if (spec_.remove_extra_whitespaces) {
    while (result.text.ends_with(space)) {
      const std::size_t size = result.text.size() - space.size();
      if (with_origins) {
        consumed = result.origins[size];
        result.origins.resize(size);
      }
      result.text.resize(size);
    }
  }
  if (whitespace_is_suffix_ && spec_.add_dummy_prefix) writer.Put(" ", consumed);
  if (with_origins) result.origins.push_back(static_cast<std::uint32_t>(consumed));
  return Ok();
}

}  // namespace lattice::tokenizers
