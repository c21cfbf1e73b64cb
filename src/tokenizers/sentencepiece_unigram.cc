#include <algorithm>
#include <limits>
#include <utility>

#include "base/utf8.h"
#include "tokenizers/sentencepiece_segmenter.h"

namespace lattice::tokenizers {
namespace {

using Type = SentencePieceModel::Type;

// An unknown character costs this much more than the worst piece.
constexpr float kUnknownPenalty = 10.0f;

class UnigramSegmenter final : public SentencePieceSegmenter {
 public:
  UnigramSegmenter(const SentencePieceModel& model, Trie trie)
      : model_(model), trie_(std::move(trie)) {
    for (std::size_t i = 0; i < model.n_pieces(); ++i) {
      if (model.types[i] != Type::kNormal) continue;
      min_score_ = std::min(min_score_, model.scores[i]);
      max_score_ = std::max(max_score_, model.scores[i]);
    }
  }

  void Run(std::string_view text, std::vector<Piece>& out) const override {
    std::vector<Arrival> arrivals(text.size() + 1);
    const auto size = static_cast<std::uint32_t>(text.size());
    const float unk_score = min_score_ - kUnknownPenalty;
    for (std::uint32_t begin = 0, next = 0; begin < size; begin = next) {
      next = begin + DecodeUtf8(text.substr(begin)).n_bytes;
      const float so_far = arrivals[begin].score;
      // Compared before, stored after rounding to single precision, as in the original.
      const auto offer = [&](std::uint32_t end, auto score, TokenId id) {
        Arrival& arrival = arrivals[end];
        const auto sum = score + so_far;
        if (arrival.id < 0 || sum > arrival.score) {
          arrival = {static_cast<float>(sum), begin, id};
        }
      };
      bool has_character = false;
      Trie::Node node = Trie::kRoot;
      for (std::uint32_t end = begin; end < size;) {
        node = trie_.Child(node, text[end++]);
        if (node == Trie::kNone) break;
        const TokenId id = trie_.Id(node);
        if (id < 0 || model_.TypeOf(id) == Type::kUnused) continue;
        offer(end, ScoreOf(id, end - begin), id);
        has_character = has_character || end == next;
      }
      if (!has_character) offer(next, unk_score, model_.unk);
    }
    out.clear();
    for (std::uint32_t end = size; end > 0; end = out.back().begin) {
      out.push_back({arrivals[end].id, arrivals[end].begin, end});
    }
    std::ranges::reverse(out);
  }

 private:
  struct Arrival {  // The best way to cover the text up to a byte: its last piece.
    float score = 0;
    std::uint32_t begin = 0;
    TokenId id = -1;
  };

  // User-defined pieces get a bonus, so that they always win.
  double ScoreOf(TokenId id, std::uint32_t n_bytes) const {
    if (model_.TypeOf(id) != Type::kUserDefined) return model_.ScoreOf(id);
    return static_cast<float>(n_bytes) * max_score_ - 0.1;
  }

  const SentencePieceModel& model_;
  Trie trie_;
  float min_score_ = std::numeric_limits<float>::max();
  float max_score_ =
      std::numeric_limits<float>::min();  // The smallest positive, as in the original.
};

}  // namespace

Result<std::unique_ptr<SentencePieceSegmenter>> MakeSentencePieceUnigram(
    const SentencePieceModel& model) {
  LATTICE_TRY(Trie trie, Trie::Build(model.from_text));
  return std::unique_ptr<SentencePieceSegmenter>(
      std::make_unique<UnigramSegmenter>(model, std::move(trie)));
}

}  // namespace lattice::tokenizers
