#include "tokenizers/scored_bpe.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "tokenizers/byte_token.h"
#include "tokenizers/sentencepiece_segmenter.h"
#include "tokenizers/vocabulary_model.h"

namespace lattice::tokenizers {
namespace {

using Type = SentencePieceModel::Type;

/// SentencePiece's BPE as a model behind a pipeline, which has cut out control tokens before.
class ScoredBpe final : public TokenModel {
 public:
  ScoredBpe(SentencePieceModel model, Trie user_defined)
      : model_(std::move(model)),
        user_defined_(std::move(user_defined)),
        segmenter_(MakeSentencePieceBpe(model_, user_defined_)) {}

  // Members refer to one another.
  ScoredBpe(const ScoredBpe&) = delete;
  ScoredBpe& operator=(const ScoredBpe&) = delete;

  std::unique_ptr<Scratch> MakeScratch() const override { return std::make_unique<Buffers>(); }

  Status Tokenize(std::string_view text, std::span<const Span> words, Scratch& scratch,
                  std::vector<Piece>& out) const override {
    auto& pieces = static_cast<Buffers&>(scratch).pieces;
    for (const Span word : words) {
      const std::string_view spelling = text.substr(word.begin, word.end - word.begin);
      segmenter_->Run(spelling, pieces);
      bool after_unk = false;
      for (const Piece& piece : pieces) {
        const bool is_unk = piece.id == model_.unk;
        if (is_unk && model_.byte_fallback) {
          for (std::uint32_t i = piece.begin; i < piece.end; ++i) {
            const TokenId id = model_.bytes[static_cast<std::uint8_t>(spelling[i])];
            out.push_back({id, word.begin + i, word.begin + i + 1});
          }
        } else if (is_unk && after_unk) {
          out.back().end = word.begin + piece.end;
        } else {
          out.push_back({piece.id, word.begin + piece.begin, word.begin + piece.end});
        }
        after_unk = is_unk;
      }
    }
    return Ok();
  }

  std::optional<TokenId> Find(std::string_view token) const override { return model_.Find(token); }
  std::optional<std::string_view> Text(TokenId id) const override {
    if (id < 0 || static_cast<std::size_t>(id) >= model_.n_pieces()) return std::nullopt;
    return model_.TextOf(id);
  }
  std::size_t vocab_size() const override { return model_.n_pieces(); }

 private:
  struct Buffers final : Scratch {
    std::vector<Piece> pieces;
  };

  SentencePieceModel model_;
  Trie user_defined_;
  std::unique_ptr<SentencePieceSegmenter> segmenter_;
};

}  // namespace

Result<std::unique_ptr<TokenModel>> MakeScoredBpe(SentencePieceModel model,
                                                  std::span<const TokenId> whole) {
  std::vector<Trie::Entry> entries;
  for (const TokenId id : whole) entries.push_back({model.TextOf(id), id});
  LATTICE_TRY(Trie user_defined, Trie::Build(std::move(entries)));
  std::size_t n_found = 0;
  for (std::size_t byte = 0; byte < model.bytes.size(); ++byte) {
    const auto id = model.reserved.Find(ByteTokenName(static_cast<std::uint8_t>(byte)));
    const bool found = id && model.TypeOf(*id) == Type::kByte;
    model.bytes[byte] = found ? *id : -1;
    n_found += found ? 1 : 0;
  }
  if (n_found != 0 && n_found != model.bytes.size()) {
    return Error{ErrorCode::kCorruptData,
                 std::to_string(n_found) + " of 256 byte tokens <0x00> to <0xFF>"};
  }
  model.byte_fallback = n_found != 0;
  if (model.unk < 0 && !model.byte_fallback) {
    return Error{ErrorCode::kCorruptData, "neither byte tokens nor a token for unknown text"};
  }
  return std::unique_ptr<TokenModel>(
      std::make_unique<ScoredBpe>(std::move(model), std::move(user_defined)));
}

}  // namespace lattice::tokenizers
