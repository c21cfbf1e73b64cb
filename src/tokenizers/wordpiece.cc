#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "tokenizers/model.h"
#include "tokenizers/trie.h"
#include "tokenizers/vocabulary_model.h"

namespace lattice::tokenizers {
namespace {

constexpr std::size_t kMaxChars = 100;  // of a word; a longer one is unknown

bool StartsScalar(char byte) { return (static_cast<std::uint8_t>(byte) & 0xC0) != 0x80; }

/// BERT's WordPiece: from the left, always the longest token that fits; tokens inside a word are
/// spelled with a prefix. A word that cannot be covered is one unknown token.
///
/// Source  Wu et al. 2016, "Google's Neural Machine Translation System", section 4.1.
class WordPiece final : public VocabularyModel {
 public:
  WordPiece(Vocabulary vocabulary, Trie trie, std::string_view prefix, std::string_view unk_token,
            std::size_t max_chars)
      : VocabularyModel(std::move(vocabulary)),
        trie_(std::move(trie)),
        continuing_(trie_.Walk(Trie::kRoot, prefix)),
        unk_(vocabulary_.Find(unk_token)),
        max_chars_(max_chars) {}

  std::unique_ptr<Scratch> MakeScratch() const override { return std::make_unique<EmptyScratch>(); }

  Status Tokenize(std::string_view text, std::span<const Span> words, Scratch&,
                  std::vector<Piece>& out) const override {
    for (const Span word : words) {
      const std::string_view spelling = text.substr(word.begin, word.end - word.begin);
      const std::size_t n_before = out.size();
      if (!IsTooLong(spelling) && Cover(text, word, out)) continue;
      out.resize(n_before);
      if (!unk_) return NoTokenFor(spelling);
      out.push_back({*unk_, word.begin, word.end});
    }
    return Ok();
  }

 private:
  bool IsTooLong(std::string_view word) const {
    return word.size() > max_chars_ &&
           static_cast<std::size_t>(std::ranges::count_if(word, StartsScalar)) > max_chars_;
  }

  bool Cover(std::string_view text, Span word, std::vector<Piece>& out) const {
    Trie::Node start = Trie::kRoot;
    for (std::uint32_t begin = word.begin; begin < word.end; start = continuing_) {
      if (start == Trie::kNone) return false;
      Piece longest{-1, begin, begin};
      Trie::Node node = start;
      for (std::uint32_t i = begin; i < word.end; ++i) {
        node = trie_.Child(node, text[i]);
        if (node == Trie::kNone) break;
        if (const TokenId id = trie_.Id(node); id >= 0) longest = {id, begin, i + 1};
      }
      if (longest.id < 0) return false;
      out.push_back(longest);
      begin = longest.end;
    }
    return true;
  }

  Trie trie_;
  Trie::Node continuing_;  // after the prefix; kNone when no token has it
  std::optional<TokenId> unk_;
  std::size_t max_chars_;
};

}  // namespace

Result<std::unique_ptr<TokenModel>> MakeWordPiece(const JsonView& model) {
  LATTICE_TRY(const std::string unk_token, model.StringOr("unk_token", "[UNK]"));
  LATTICE_TRY(const std::string prefix, model.StringOr("continuing_subword_prefix", "##"));
  LATTICE_TRY(const std::int64_t max_chars, model.IntOr("max_input_chars_per_word", kMaxChars, 0,
                                                        std::numeric_limits<std::int32_t>::max()));
  LATTICE_TRY(const JsonView vocab, model.Get("vocab"));
  LATTICE_TRY(Vocabulary vocabulary, Vocabulary::FromObject(vocab));
  auto trie = Trie::Build(vocabulary);
  if (!trie) return std::move(trie).error().Within(vocab.where());
  return std::unique_ptr<TokenModel>(
      std::make_unique<WordPiece>(std::move(vocabulary), *std::move(trie), prefix, unk_token,
                                  static_cast<std::size_t>(max_chars)));
}

Result<std::unique_ptr<TokenModel>> MakeWordPieceFromLines(std::string_view vocab_txt,
                                                           std::string_view unk_token) {
  Vocabulary vocabulary;
  const auto n_lines = static_cast<std::size_t>(std::ranges::count(vocab_txt, '\n')) + 1;
  vocabulary.Reserve(n_lines, vocab_txt.size());
  for (std::int64_t line = 0; !vocab_txt.empty(); ++line) {
    if (line > Vocabulary::kMaxId) {
      return Error{ErrorCode::kCorruptData,
                   "vocab.txt has more than " + std::to_string(Vocabulary::kMaxId) + " lines"};
    }
    const std::size_t end = std::min(vocab_txt.find('\n'), vocab_txt.size());
    std::string_view token = vocab_txt.substr(0, end);
    vocab_txt.remove_prefix(std::min(end + 1, vocab_txt.size()));
    if (token.ends_with('\r')) token.remove_suffix(1);
    if (token.empty()) continue;  // A blank line only takes up its number.
    LATTICE_TRY_VOID(vocabulary.Add(token, static_cast<TokenId>(line)));
  }
  if (vocabulary.n_tokens() == 0) return Error{ErrorCode::kCorruptData, "vocab.txt is empty"};
  auto made = MakeWordPiece(std::move(vocabulary), unk_token);
  if (!made) return std::move(made).error().Within("vocab.txt");
  return made;
}

Result<std::unique_ptr<TokenModel>> MakeWordPiece(Vocabulary vocabulary,
                                                  std::string_view unk_token) {
  LATTICE_TRY(Trie trie, Trie::Build(vocabulary));
  return std::unique_ptr<TokenModel>(std::make_unique<WordPiece>(
      std::move(vocabulary), std::move(trie), "##", unk_token, kMaxChars));
}

}  // namespace lattice::tokenizers
