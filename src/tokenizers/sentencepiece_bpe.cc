#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/utf8.h"
#include "tokenizers/sentencepiece_normalizer.h"
#include "tokenizers/sentencepiece_segmenter.h"

namespace lattice::tokenizers {
namespace {

using Type = SentencePieceModel::Type;
constexpr std::uint32_t kNowhere = UINT32_MAX;

class BpeSegmenter final : public SentencePieceSegmenter {
 public:
  BpeSegmenter(const SentencePieceModel& model, const Trie& user_defined)
      : model_(model), user_defined_(user_defined) {
    for (std::size_t i = 0; i < model.n_pieces(); ++i) {
      const std::size_t size = model.TextOf(static_cast<TokenId>(i)).size();
      longest_piece_ = std::max(longest_piece_, size);
    }
  }

  void Run(std::string_view text, std::vector<Piece>& out) const override {
    Job job;
    job.text = text;
    SplitIntoSymbols(job);
    for (std::uint32_t i = 1; i < job.symbols.size(); ++i) Offer(i - 1, i, job);
    while (!job.agenda.empty()) {
      std::ranges::pop_heap(job.agenda, IsLater);
      const Candidate top = job.agenda.back();
      job.agenda.pop_back();
      Symbol& left = job.symbols[top.left];
      Symbol& right = job.symbols[top.right];
      // A symbol that was joined to its left neighbour is empty; one that grew changes the sum.
      if (left.size == 0 || right.size == 0 || left.size + right.size != top.size) continue;
      left.size = top.size;
      left.next = right.next;
      if (right.next != kNowhere) job.symbols[right.next].previous = top.left;
      right.size = 0;
      if (left.previous != kNowhere) Offer(left.previous, top.left, job);
      if (left.next != kNowhere) Offer(top.left, left.next, job);
    }
    out.clear();
    for (const Symbol& symbol : job.symbols) {
      if (symbol.size > 0) Emit(symbol.begin, symbol.size, job, out);
    }
  }

 private:
  struct Symbol {
    std::uint32_t begin, size;  // bytes of the text
    std::uint32_t previous, next;
    bool frozen;
  };
  struct Candidate {
    float score;
    std::uint32_t left, right, size;
  };
  struct Job {
    std::string_view text;
    std::vector<Symbol> symbols;
    std::vector<Candidate> agenda;
    // How an unused piece was last put together: the size of its left part.
    std::unordered_map<TokenId, std::uint32_t> cuts;
  };

  static bool IsLater(const Candidate& a, const Candidate& b) {
    return a.score < b.score || (a.score == b.score && a.left > b.left);
  }

  void SplitIntoSymbols(Job& job) const {
    const auto size = static_cast<std::uint32_t>(job.text.size());
    for (std::uint32_t begin = 0; begin < size;) {
      const std::string_view rest = job.text.substr(begin);
      const auto frozen = static_cast<std::uint32_t>(LongestPrefix(user_defined_, rest));
      const std::uint32_t n = frozen > 0 ? frozen : DecodeUtf8(rest).n_bytes;
      const auto index = static_cast<std::uint32_t>(job.symbols.size());
      const bool is_last = begin + n == size;
      job.symbols.push_back({begin, n, index == 0 ? kNowhere : index - 1,
                             is_last ? kNowhere : index + 1, frozen > 0});
      begin += n;
    }
  }

  void Offer(std::uint32_t left, std::uint32_t right, Job& job) const {
    const Symbol& a = job.symbols[left];
    const Symbol& b = job.symbols[right];
    const std::uint32_t size = a.size + b.size;
    if (a.frozen || b.frozen || size > longest_piece_) return;
    const auto id = model_.from_text.Find(job.text.substr(a.begin, size));
    if (!id) return;
    job.agenda.push_back({model_.ScoreOf(*id), left, right, size});
    std::ranges::push_heap(job.agenda, IsLater);
    if (model_.TypeOf(*id) == Type::kUnused) job.cuts[*id] = a.size;
  }

  // Unused pieces only helped to build others: left alone, they fall apart again.
  void Emit(std::uint32_t begin, std::uint32_t size, const Job& job,
            std::vector<Piece>& out) const {
    std::vector<Span> parts = {{begin, begin + size}};
    while (!parts.empty()) {
      const Span part = parts.back();
      parts.pop_back();
      const std::string_view spelling = job.text.substr(part.begin, part.end - part.begin);
      const TokenId id = model_.Find(spelling).value_or(model_.unk);
      const auto cut = job.cuts.find(id);
      if (model_.TypeOf(id) == Type::kUnused && cut != job.cuts.end()) {
        const std::uint32_t middle = part.begin + cut->second;
        parts.push_back({middle, part.end});
        parts.push_back({part.begin, middle});
      } else {
        out.push_back({id, part.begin, part.end});
      }
    }
  }

  const SentencePieceModel& model_;
  const Trie& user_defined_;
  std::size_t longest_piece_ = 0;
};

}  // namespace

std::unique_ptr<SentencePieceSegmenter> MakeSentencePieceBpe(const SentencePieceModel& model,
                                                             const Trie& user_defined) {
  return std::make_unique<BpeSegmenter>(model, user_defined);
}

}  // namespace lattice::tokenizers
