#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "tokenizers/byte_token.h"
#include "tokenizers/model.h"
#include "tokenizers/trie.h"
#include "tokenizers/vocabulary_model.h"
#include "tokenizers/word_cache.h"

namespace lattice::tokenizers {
namespace {

// An unknown character costs this much more than the worst token.
constexpr double kUnknownPenalty = 10.0;

/// Unigram language model: the cut of a word whose tokens' log probabilities have the largest sum.
///
/// Source  Kudo 2018, "Subword Regularization", section 3.2; ties and unknown text as in Hugging
///         Face tokenizers.
class Unigram final : public VocabularyModel {
 public:
  Unigram(Vocabulary vocabulary, Trie trie, std::vector<double> scores, std::optional<TokenId> unk,
          bool byte_fallback)
      : VocabularyModel(std::move(vocabulary)),
        trie_(std::move(trie)),
        scores_(std::move(scores)),
        unk_score_(*std::ranges::min_element(scores_) - kUnknownPenalty),
        unk_(unk),
        byte_fallback_(byte_fallback) {
    for (std::size_t byte = 0; byte < byte_tokens_.size(); ++byte) {
      const std::string name = ByteTokenName(static_cast<std::uint8_t>(byte));
      byte_tokens_[byte] = vocabulary_.Find(name).value_or(-1);
    }
  }

  std::unique_ptr<Scratch> MakeScratch() const override { return std::make_unique<Buffers>(); }

  Status Tokenize(std::string_view text, std::span<const Span> words, Scratch& scratch,
                  std::vector<Piece>& out) const override {
    auto& buffers = static_cast<Buffers&>(scratch);
    for (const Span word : words) {
      const std::string_view spelling = text.substr(word.begin, word.end - word.begin);
      if (cache_.Find(spelling, 0, word.begin, out)) continue;
      const std::size_t n_before = out.size();
      LATTICE_TRY_VOID(FindBestPath(spelling, buffers));
      Backtrack(spelling, buffers);
      for (const Piece& piece : buffers.pieces) Emit(spelling, piece, word.begin, out);
      cache_.Insert(spelling, 0, word.begin, std::span(out).subspan(n_before));
    }
    return Ok();
  }

 private:
  static constexpr std::uint32_t kUnreached = UINT32_MAX;
  struct Arrival {  // The best way to cover a word up to a byte: its last token.
    double score = 0;
    std::uint32_t begin = kUnreached;
    TokenId id = -1;
  };
  struct Buffers final : Scratch {
    std::vector<Arrival> arrivals;  // by end byte
    std::vector<Piece> pieces;
  };

  Status FindBestPath(std::string_view word, Buffers& buffers) const {
    auto& arrivals = buffers.arrivals;
    arrivals.assign(word.size() + 1, {});
    const auto size = static_cast<std::uint32_t>(word.size());
    for (std::uint32_t begin = 0, next = 0; begin < size; begin = next) {
      next = begin + DecodeUtf8(word.substr(begin)).n_bytes;
      const double so_far = arrivals[begin].score;
      const auto offer = [&](std::uint32_t end, double score, TokenId id) {
        Arrival& arrival = arrivals[end];
        if (arrival.begin == kUnreached || so_far + score > arrival.score) {
          arrival = {so_far + score, begin, id};
        }
      };
      bool has_character = false;
      Trie::Node node = Trie::kRoot;
      for (std::uint32_t end = begin; end < size;) {
        node = trie_.Child(node, word[end++]);
        if (node == Trie::kNone) break;
        const TokenId id = trie_.Id(node);
        if (id < 0) continue;
        offer(end, scores_[static_cast<std::size_t>(id)], id);
        has_character = has_character || end == next;
      }
      if (has_character) continue;
      if (!unk_) return NoTokenFor(word.substr(begin, next - begin));
      offer(next, unk_score_, *unk_);
    }
    return Ok();
  }

  // The tokens of the best path in text order, neighbouring unknown ones joined.
  void Backtrack(std::string_view word, Buffers& buffers) const {
    auto& pieces = buffers.pieces;
    pieces.clear();
    for (auto end = static_cast<std::uint32_t>(word.size()); end > 0;) {
      const Arrival& arrival = buffers.arrivals[end];
      if (!pieces.empty() && arrival.id == unk_ && pieces.back().id == unk_) {
        pieces.back().begin = arrival.begin;
      } else {
        pieces.push_back({arrival.id, arrival.begin, end});
      }
      end = arrival.begin;
    }
    std::ranges::reverse(pieces);
  }

  void Emit(std::string_view word, Piece piece, std::uint32_t offset,
            std::vector<Piece>& out) const {
    const std::string_view spelling = word.substr(piece.begin, piece.end - piece.begin);
    piece.begin += offset;
    piece.end += offset;
    if (piece.id != unk_) {
      out.push_back(piece);
      return;
    }
    // Joined unknown text may happen to spell a token.
    if (const auto id = vocabulary_.Find(spelling)) {
      out.push_back({*id, piece.begin, piece.end});
      return;
    }
    const auto token_of = [&](char byte) { return byte_tokens_[static_cast<std::uint8_t>(byte)]; };
    if (byte_fallback_ &&
        std::ranges::all_of(spelling, [&](char byte) { return token_of(byte) >= 0; })) {
      for (const char byte : spelling) out.push_back({token_of(byte), piece.begin, piece.end});
      return;
    }
    out.push_back(piece);
  }

  Trie trie_;
  std::vector<double> scores_;  // by id
  double unk_score_;
  std::optional<TokenId> unk_;
  bool byte_fallback_;
  std::array<TokenId, 256> byte_tokens_;  // <0x00> to <0xFF>; -1 where there is none
  mutable WordCache cache_;
};

// One ["piece", score] of the list.
Status AddScored(const boost::json::value& item, TokenId id, Vocabulary& vocabulary,
                 std::vector<double>& scores) {
  const auto* pair = item.if_array();
  if (pair == nullptr || pair->size() != 2 || !(*pair)[0].is_string()) {
    return JsonView(item, "").Complain("expected a pair of token and score");
  }
  const auto& token = (*pair)[0].get_string();
  LATTICE_TRY(const double score, JsonView((*pair)[1], "[1]").Number());
  scores.push_back(score);
  return vocabulary.Add({token.data(), token.size()}, id);
}

}  // namespace

Result<std::unique_ptr<TokenModel>> MakeUnigram(const JsonView& model) {
  LATTICE_TRY(const JsonView vocab, model.Get("vocab"));
  if (!vocab.IsArray()) return vocab.Complain("expected an array of tokens and scores");
  const auto& list = vocab.value().get_array();
  if (list.empty()) return vocab.Complain("expected at least one token");
  LATTICE_TRY(const bool byte_fallback, model.BoolOr("byte_fallback", false));
  std::optional<TokenId> unk;
  if (const auto unk_id = model.Find("unk_id")) {
    LATTICE_TRY(const std::int64_t id, unk_id->Int(0, static_cast<std::int64_t>(list.size()) - 1));
    unk = static_cast<TokenId>(id);
  }
  Vocabulary vocabulary;
  vocabulary.Reserve(list.size(), list.size() * 10);
  std::vector<double> scores;
  scores.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto id = static_cast<TokenId>(std::min(i, std::size_t{Vocabulary::kMaxId} + 1));
    if (auto added = AddScored(list[i], id, vocabulary, scores); !added) {
      return std::move(added).error().Within(vocab.where() + "[" + std::to_string(i) + "]");
    }
  }
  auto made = MakeUnigram(std::move(vocabulary), std::move(scores), unk, byte_fallback);
  if (!made) return std::move(made).error().Within(vocab.where());
  return made;
}

Result<std::unique_ptr<TokenModel>> MakeUnigram(Vocabulary vocabulary, std::vector<double> scores,
                                                std::optional<TokenId> unk, bool byte_fallback) {
  LATTICE_TRY(Trie trie, Trie::Build(vocabulary));
  return std::unique_ptr<TokenModel>(std::make_unique<Unigram>(
      std::move(vocabulary), std::move(trie), std::move(scores), unk, byte_fallback));
}

}  // namespace lattice::tokenizers
