#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "tokenizers/bpe_merges.h"
#include "tokenizers/bpe_model.h"
#include "tokenizers/bpe_symbols.h"
#include "tokenizers/byte_alphabet.h"
#include "tokenizers/model.h"
#include "tokenizers/vocabulary_model.h"
#include "tokenizers/word_cache.h"

namespace lattice::tokenizers {
namespace {

/// Between which neighbouring symbols some merge could ever reach across. Where none could, a word
/// falls apart into words of their own: a text that is one word (Gemma's are) is merged piece by
/// piece. May say yes for a few pairs too many, which costs time only.
class Seams {
 public:
  /// Until Allow is called, everything may join.
  Seams() = default;
  explicit Seams(std::size_t n_pairs)
      : bits_(std::bit_ceil(std::max<std::size_t>(1024, n_pairs / 8))) {}

  void Allow(TokenId left, TokenId right) {
    const std::uint64_t hash = Hash(left, right);
    bits_[hash >> 6 & (bits_.size() - 1)] |= std::uint64_t{1} << (hash & 63);
  }
  bool MayJoin(TokenId left, TokenId right) const {
    if (bits_.empty()) return true;
    const std::uint64_t hash = Hash(left, right);
    return (bits_[hash >> 6 & (bits_.size() - 1)] >> (hash & 63) & 1) != 0;
  }

 private:
  static std::uint64_t Hash(TokenId left, TokenId right) {
    const std::uint64_t key =
        std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
    return key * 0x9E3779B97F4A7C15u >> 32;
  }
  std::vector<std::uint64_t> bits_;
};

/// Byte-pair encoding: symbols are joined in the order in which the merges were learnt.
///
/// Source  Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units".
class Bpe final : public VocabularyModel {
 public:
  Bpe(Vocabulary vocabulary, BpeSymbols symbols, MergeTable merges, Seams seams, bool ignore_merges)
      : VocabularyModel(std::move(vocabulary)),
        symbols_(std::move(symbols)),
        merges_(std::move(merges)),
        seams_(std::move(seams)),
        ignore_merges_(ignore_merges) {}

  std::unique_ptr<Scratch> MakeScratch() const override { return std::make_unique<Buffers>(); }

  Status Tokenize(std::string_view text, std::span<const Span> words, Scratch& scratch,
                  std::vector<Piece>& out) const override {
    auto& buffers = static_cast<Buffers&>(scratch);
    for (const Span word : words) {
      const std::string_view spelling = text.substr(word.begin, word.end - word.begin);
      if (cache_.Find(spelling, kWholeWord, word.begin, out)) continue;
      const std::size_t n_before = out.size();
      if (const auto id = WholeWord(spelling)) {
        out.push_back({*id, word.begin, word.end});
      } else {
        LATTICE_TRY_VOID(symbols_.Split(vocabulary_, text, word, buffers.symbols));
        MergeAll(text, buffers, out);
      }
      cache_.Insert(spelling, kWholeWord, word.begin, std::span(out).subspan(n_before));
    }
    return Ok();
  }

 private:
  struct Buffers final : Scratch {
    std::vector<Piece> symbols, segment;
    BpeMerger merger;
  };
  // A word that is a token stays whole under ignore_merges; the same bytes inside a longer word do
  // not.
  static constexpr std::uint8_t kWholeWord = 0, kSegment = 1;

  std::optional<TokenId> WholeWord(std::string_view word) const {
    if (!ignore_merges_) return std::nullopt;
    if (symbols_.spelling().input == BpeInput::kAsSpelled) return vocabulary_.Find(word);
    std::string spelled;
    for (const char byte : word) {
      AppendUtf8(ByteAlphabet::ScalarOf(static_cast<std::uint8_t>(byte)), spelled);
    }
    return vocabulary_.Find(spelled);
  }

  void MergeAll(std::string_view text, Buffers& buffers, std::vector<Piece>& out) const {
    const std::vector<Piece>& symbols = buffers.symbols;
    for (std::size_t begin = 0, end = 0; begin < symbols.size(); begin = end) {
      end = begin + 1;
      while (end < symbols.size() && seams_.MayJoin(symbols[end - 1].id, symbols[end].id)) ++end;
      if (end == begin + 1) {
        out.push_back(symbols[begin]);
        continue;
      }
      const bool is_part = end - begin < symbols.size();
      const std::uint32_t offset = symbols[begin].begin;
      const std::string_view spelling = text.substr(offset, symbols[end - 1].end - offset);
      if (is_part && cache_.Find(spelling, kSegment, offset, out)) continue;
      buffers.segment.assign(symbols.begin() + static_cast<std::ptrdiff_t>(begin),
                             symbols.begin() + static_cast<std::ptrdiff_t>(end));
      buffers.merger.Run(merges_, buffers.segment);
      out.insert(out.end(), buffers.segment.begin(), buffers.segment.end());
      if (is_part) cache_.Insert(spelling, kSegment, offset, buffers.segment);
    }
  }

  BpeSymbols symbols_;
  MergeTable merges_;
  Seams seams_;
  bool ignore_merges_;
  mutable WordCache cache_;
};

struct TokenPair {
  std::string_view left, right;
};

// "a b" or ["a", "b"].
Result<TokenPair> ReadMerge(const boost::json::value& merge, const JsonView& merges,
                            std::size_t index) {
  const auto complain = [&](std::string_view what) {
    return JsonView(merge, merges.where() + "[" + std::to_string(index) + "]").Complain(what);
  };
  if (const auto* text = merge.if_string()) {
    const std::string_view line(text->data(), text->size());
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
      return complain("expected two tokens with one space between them");
    }
    return TokenPair{line.substr(0, space), line.substr(space + 1)};
  }
  const auto* pair = merge.if_array();
  if (pair == nullptr || pair->size() != 2 || !(*pair)[0].is_string() || !(*pair)[1].is_string()) {
    return complain("expected a pair of tokens");
  }
  const auto& left = (*pair)[0].get_string();
  const auto& right = (*pair)[1].get_string();
  return TokenPair{{left.data(), left.size()}, {right.data(), right.size()}};
}

bool IsVersionLine(const boost::json::value& merge) {
  const auto* text = merge.if_string();
  return text != nullptr && std::string_view(text->data(), text->size()).starts_with("#version");
}

char32_t FirstScalar(std::string_view token) {
  return token.empty() ? U'\0' : DecodeUtf8(token).scalar;
}
char32_t LastScalar(std::string_view token) {
  if (token.empty()) return U'\0';
  std::size_t begin = token.size() - 1;
  while (begin > 0 && (static_cast<std::uint8_t>(token[begin]) & 0xC0) == 0x80) --begin;
  return DecodeUtf8(token.substr(begin)).scalar;
}

/// Reads the merges of a model. Each names two tokens of the vocabulary, and so does its product.
class MergeReader {
 public:
  MergeReader(const Vocabulary& vocabulary, const BpeSymbols& symbols)
      : vocabulary_(vocabulary), symbols_(symbols) {}

  Status Read(const JsonView& merges) {
    if (!merges.IsArray()) return merges.Complain("expected an array of merges");
    const auto& list = merges.value().get_array();
    Begin(list.size());
    std::uint32_t rank = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (IsVersionLine(list[i])) continue;
      LATTICE_TRY(const TokenPair pair, ReadMerge(list[i], merges, i));
      if (auto added = Add(pair, rank++); !added) {
        return std::move(added).error().Within(merges.where() + "[" + std::to_string(i) + "]");
      }
    }
    if (!cuts_) seams_ = Seams();
    return Ok();
  }

  Status Read(std::span<const std::string_view> merges) {
    Begin(merges.size());
    for (std::size_t i = 0; i < merges.size(); ++i) {
      const auto where = [&] { return "merges[" + std::to_string(i) + "]"; };
      // The first token may be a space.
      const std::size_t space = merges[i].find(' ', 1);
      if (space == std::string_view::npos) {
        return Error{ErrorCode::kCorruptData,
                     where() + ": expected two tokens with a space between"};
      }
      const TokenPair pair{merges[i].substr(0, space), merges[i].substr(space + 1)};
      if (auto added = Add(pair, static_cast<std::uint32_t>(i)); !added) {
        return std::move(added).error().Within(where());
      }
    }
    if (!cuts_) seams_ = Seams();
    return Ok();
  }

  MergeTable TakeTable() { return std::move(table_); }
  Seams TakeSeams() { return std::move(seams_); }

 private:
  void Begin(std::size_t n_merges) {
    table_.Reserve(n_merges);
    seams_ = Seams(n_merges);
    cuts_ = symbols_.spelling().prefix.empty() && symbols_.spelling().suffix.empty();
  }

  Status Add(TokenPair pair, std::uint32_t rank) {
    const std::string& prefix = symbols_.spelling().prefix;
    LATTICE_TRY(const TokenId left, Token(pair.left));
    LATTICE_TRY(const TokenId right, Token(pair.right));
    if (pair.right.size() < prefix.size()) {
      return Error{ErrorCode::kCorruptData,
                   "'" + std::string(pair.right) + "' is shorter than continuing_subword_prefix"};
    }
    product_.assign(pair.left).append(pair.right.substr(prefix.size()));
    LATTICE_TRY(const TokenId product, Token(product_));
    // Symbols that stand for unknown characters do not show in a token's spelling.
    if (symbols_.StandsForUnknown(left) || symbols_.StandsForUnknown(right)) cuts_ = false;
    const TokenId last = symbols_.IdOf(LastScalar(pair.left));
    const TokenId first = symbols_.IdOf(FirstScalar(pair.right));
    if (last >= 0 && first >= 0) seams_.Allow(last, first);
    return table_.Add(left, right, {rank, product});
  }

  Result<TokenId> Token(std::string_view token) const {
    if (const auto id = vocabulary_.Find(token)) return *id;
    return Error{ErrorCode::kCorruptData, "'" + std::string(token) + "' is not in the vocabulary"};
  }

  const Vocabulary& vocabulary_;
  const BpeSymbols& symbols_;
  MergeTable table_;
  Seams seams_;
  bool cuts_ = true;
  std::string product_;
};

template <typename Merges>
Result<std::unique_ptr<TokenModel>> MakeBpeFrom(Vocabulary vocabulary, BpeSpelling spelling,
                                                const Merges& merges, bool ignore_merges) {
  BpeSymbols symbols(vocabulary, std::move(spelling));
  MergeReader reader(vocabulary, symbols);
  LATTICE_TRY_VOID(reader.Read(merges));
  return std::unique_ptr<TokenModel>(std::make_unique<Bpe>(std::move(vocabulary),
                                                           std::move(symbols), reader.TakeTable(),
                                                           reader.TakeSeams(), ignore_merges));
}

}  // namespace

Result<std::unique_ptr<TokenModel>> MakeBpe(const JsonView& model, BpeInput input) {
  BpeSpelling spelling;
  spelling.input = input;
  LATTICE_TRY(spelling.unk_token, model.StringOr("unk_token", ""));
  LATTICE_TRY(spelling.prefix, model.StringOr("continuing_subword_prefix", ""));
  LATTICE_TRY(spelling.suffix, model.StringOr("end_of_word_suffix", ""));
  LATTICE_TRY(spelling.fuse_unk, model.BoolOr("fuse_unk", false));
  LATTICE_TRY(spelling.byte_fallback, model.BoolOr("byte_fallback", false));
  LATTICE_TRY(const bool ignore_merges, model.BoolOr("ignore_merges", false));
  LATTICE_TRY(const JsonView vocab, model.Get("vocab"));
  LATTICE_TRY(const JsonView merges, model.Get("merges"));
  LATTICE_TRY(Vocabulary vocabulary, Vocabulary::FromObject(vocab));
  return MakeBpeFrom(std::move(vocabulary), std::move(spelling), merges, ignore_merges);
}

Result<std::unique_ptr<TokenModel>> MakeBpe(Vocabulary vocabulary, BpeSpelling spelling,
                                            std::span<const std::string_view> merges,
                                            bool ignore_merges) {
  return MakeBpeFrom(std::move(vocabulary), std::move(spelling), merges, ignore_merges);
}

}  // namespace lattice::tokenizers
