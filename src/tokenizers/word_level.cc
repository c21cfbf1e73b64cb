#include <utility>

#include "tokenizers/model.h"
#include "tokenizers/vocabulary_model.h"

namespace lattice::tokenizers {
namespace {

/// Each word is a token or unknown.
class WordLevel final : public VocabularyModel {
 public:
  WordLevel(Vocabulary vocabulary, std::string_view unk_token)
      : VocabularyModel(std::move(vocabulary)), unk_(vocabulary_.Find(unk_token)) {}

  std::unique_ptr<Scratch> MakeScratch() const override { return std::make_unique<EmptyScratch>(); }

  Status Tokenize(std::string_view text, std::span<const Span> words, Scratch&,
                  std::vector<Piece>& out) const override {
    for (const Span word : words) {
      const std::string_view spelling = text.substr(word.begin, word.end - word.begin);
      const std::optional<TokenId> id = vocabulary_.Find(spelling);
      if (!id && !unk_) return NoTokenFor(spelling);
      out.push_back({id ? *id : *unk_, word.begin, word.end});
    }
    return Ok();
  }

 private:
  std::optional<TokenId> unk_;
};

}  // namespace

Result<std::unique_ptr<TokenModel>> MakeWordLevel(const JsonView& model) {
  LATTICE_TRY(const std::string unk_token, model.StringOr("unk_token", "<unk>"));
  LATTICE_TRY(const JsonView vocab, model.Get("vocab"));
  LATTICE_TRY(Vocabulary vocabulary, Vocabulary::FromObject(vocab));
  return std::unique_ptr<TokenModel>(std::make_unique<WordLevel>(std::move(vocabulary), unk_token));
}

}  // namespace lattice::tokenizers
