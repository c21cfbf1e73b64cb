#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "tokenizers/aligned_text.h"
#include "tokenizers/char_index.h"
#include "tokenizers/plain_ranges.h"
#include "tokenizers/sentencepiece_model.h"
#include "tokenizers/sentencepiece_normalizer.h"
#include "tokenizers/sentencepiece_segmenter.h"
#include "tokenizers/tokenizer.h"
#include "tokenizers/truncation.h"
#include "tokenizers/unicode.h"
#include "tokenizers/utf8_assembler.h"

namespace lattice::tokenizers {
namespace {

using Type = SentencePieceModel::Type;

constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";  // U+2581
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// White space, or the symbol that stands for it.
bool IsBlank(std::string_view piece) {
  while (!piece.empty()) {
    const Utf8Step step = DecodeUtf8(piece);
    if (step.scalar != 0x2581 && !IsSpace(step.scalar)) return false;
    piece.remove_prefix(step.n_bytes);
  }
  return true;
}

/// A SentencePiece file as its own library reads it. Such a file has no template and no special
/// tokens in texts: the options about them change nothing. Decoding never shows control pieces.
class SentencePieceTokenizer final : public Tokenizer {
 public:
  static Result<std::shared_ptr<const Tokenizer>> Make(SentencePieceModel model) {
    std::vector<Trie::Entry> entries;
    bool has_markers = false;
    for (std::size_t i = 0; i < model.n_pieces(); ++i) {
      const auto id = static_cast<TokenId>(i);
      if (model.types[i] != Type::kUserDefined) continue;
      entries.push_back({model.TextOf(id), id});
      has_markers = has_markers || !IsBlank(model.TextOf(id));
    }
    LATTICE_TRY(Trie user_defined, Trie::Build(std::move(entries)));
    auto tokenizer = std::shared_ptr<SentencePieceTokenizer>(
        new SentencePieceTokenizer(std::move(model), std::move(user_defined)));
    tokenizer->has_markers_ = has_markers;
    if (tokenizer->model_.algorithm == SentencePieceModel::Algorithm::kUnigram) {
      LATTICE_TRY(tokenizer->segmenter_, MakeSentencePieceUnigram(tokenizer->model_));
    } else {
      tokenizer->segmenter_ = MakeSentencePieceBpe(tokenizer->model_, tokenizer->user_defined_);
    }
    return std::shared_ptr<const Tokenizer>(std::move(tokenizer));
  }

  // Members refer to one another.
  SentencePieceTokenizer(const SentencePieceTokenizer&) = delete;
  SentencePieceTokenizer& operator=(const SentencePieceTokenizer&) = delete;

  Result<Encoding> Encode(std::string_view text, const EncodeOptions& options) const override {
    LATTICE_TRY_VOID(CheckRanges(text, options));
    LATTICE_TRY(Part part, EncodeText(text, options.with_offsets));
    Encoding encoding;
    encoding.n_tokens_untruncated = part.ids.size();
    if (options.max_tokens != 0) part.Truncate(options.max_tokens);
    Append(std::move(part), 0, encoding);
    return encoding;
  }

  Result<Encoding> EncodePair(std::string_view first, std::string_view second,
                              const EncodeOptions& options) const override {
    if (!options.plain_ranges.empty()) return NoRangesInPairs();
    LATTICE_TRY(Part a, EncodeText(first, options.with_offsets));
    LATTICE_TRY(Part b, EncodeText(second, options.with_offsets));
    Encoding encoding;
    encoding.n_tokens_untruncated = a.ids.size() + b.ids.size();
    if (options.max_tokens != 0) {
      const auto [n_first, n_second] =
          TruncatedLengths(a.ids.size(), b.ids.size(), options.max_tokens);
      a.Truncate(n_first);
      b.Truncate(n_second);
    }
    Append(std::move(a), 0, encoding);
    Append(std::move(b), 1, encoding);
    return encoding;
  }

  std::unique_ptr<TokenStream> StartDecoding(bool /*skip_special_tokens*/) const override {
    return std::make_unique<Stream>(*this);
  }

  std::size_t vocab_size() const override { return model_.n_pieces(); }
  std::optional<TokenId> Find(std::string_view token) const override { return model_.Find(token); }
  std::optional<std::string_view> TokenText(TokenId id) const override {
    if (id < 0 || static_cast<std::size_t>(id) >= vocab_size()) return std::nullopt;
    return model_.TextOf(id);
  }
  bool IsSpecial(TokenId) const override { return false; }  // skipping changes nothing
  std::optional<std::string> TokenBytes(TokenId id) const override {
    if (id < 0 || static_cast<std::size_t>(id) >= vocab_size()) return std::nullopt;
    if (model_.TypeOf(id) == Type::kByte) return std::string(1, ByteOf(id));
    std::string bytes;
    AppendSpaced(model_.TextOf(id), bytes);
    return bytes;
  }

 private:
  struct Part {  // One encoded text.
    std::vector<TokenId> ids;
    std::vector<Offset> offsets;

    void Add(TokenId id, Span source) {
      ids.push_back(id);
      offsets.push_back({source.begin, source.end});
    }
    void Truncate(std::size_t n) {
      ids.resize(std::min(ids.size(), n));
      offsets.resize(std::min(offsets.size(), n));
    }
  };

  SentencePieceTokenizer(SentencePieceModel model, Trie user_defined)
      : model_(std::move(model)),
        user_defined_(std::move(user_defined)),
        normalizer_(model_.normalization, user_defined_, model_.whitespace_is_suffix),
        denormalizer_(model_.denormalization, no_pieces_, /*whitespace_is_suffix=*/false) {}

  // A text asks for no control piece here, but for any user-defined one.
  Status CheckRanges(std::string_view text, const EncodeOptions& options) const {
    LATTICE_TRY_VOID(PlainSpans(text, options.plain_ranges));
    if (options.plain_ranges.empty() || !has_markers_) return Ok();
    return Error{ErrorCode::kUnsupported,
                 "plain_ranges with a SentencePiece model that has user-defined pieces"};
  }

  Result<Part> EncodeText(std::string_view text, bool with_offsets) const {
    LATTICE_TRY_VOID(CheckTextSize(text.size()));
    std::string repaired;
    if (!IsValidUtf8(text)) {
      repaired = ToValidUtf8(text);
      text = repaired;
    }
    SentencePieceNormalizer::Output normalized;
    LATTICE_TRY_VOID(normalizer_.Run(text, with_offsets, normalized));
    std::vector<Piece> pieces;
    segmenter_->Run(normalized.text, pieces);
    Part part = ToIds(normalized, pieces);
    if (!with_offsets) {
      part.offsets.clear();
      return part;
    }
    const CharIndex chars(text);
    for (Offset& offset : part.offsets) {
      offset = {chars.CharsBefore(offset.begin), chars.CharsBefore(offset.end)};
    }
    return part;
  }

  // Unknown characters become bytes, or one unknown id a run. Offsets in bytes.
  Part ToIds(const SentencePieceNormalizer::Output& normalized,
             const std::vector<Piece>& pieces) const {
    Part part;
    part.ids.reserve(pieces.size());
    part.offsets.reserve(pieces.size());
    bool after_unk = false;
    for (const Piece& piece : pieces) {
      Span source;
      if (!normalized.origins.empty()) {
        source = {normalized.origins[piece.begin], normalized.origins[piece.end]};
      }
      const bool is_unk = piece.id == model_.unk;
      if (is_unk && model_.byte_fallback) {
        for (std::uint32_t i = piece.begin; i < piece.end; ++i) {
          // The last byte stands for the character.
          const std::uint32_t end = i + 1 == piece.end ? source.end : source.begin;
          part.Add(model_.bytes[static_cast<std::uint8_t>(normalized.text[i])],
                   {source.begin, end});
        }
      } else if (is_unk && after_unk) {
        part.offsets.back().end = source.end;
      } else {
        part.Add(piece.id, source);
      }
      after_unk = is_unk;
    }
    return part;
  }

  static void Append(Part part, std::uint8_t type_id, Encoding& encoding) {
    encoding.ids.insert(encoding.ids.end(), part.ids.begin(), part.ids.end());
    encoding.offsets.insert(encoding.offsets.end(), part.offsets.begin(), part.offsets.end());
    encoding.type_ids.resize(encoding.ids.size(), type_id);
  }

  // What a byte piece stands for.
  char ByteOf(TokenId id) const {
    return static_cast<char>(std::ranges::find(model_.bytes, id) - model_.bytes.begin());
  }

  class Stream final : public TokenStream {
   public:
    explicit Stream(const SentencePieceTokenizer& tokenizer)
        : tokenizer_(tokenizer), model_(tokenizer.model_) {}

    Status Push(TokenId id, std::string& text) override {
      LATTICE_TRY_VOID(CheckId(id, model_.n_pieces()));
      // The denormaliser's keys may lie across any two pieces.
      std::string& out = model_.denormalization.has_char_map ? whole_text_ : text;
      const std::size_t n_before = out.size();
      if (model_.TypeOf(id) == Type::kByte) {
        bytes_ += tokenizer_.ByteOf(id);
        PutBytes(/*at_end=*/false, out);
      } else {
        PutBytes(/*at_end=*/true, out);
        if (saw_prefix_ || any_text_ || out.size() > n_before) at_begin_ = false;
        saw_prefix_ = AppendPiece(id, out);
      }
      any_text_ = any_text_ || out.size() > n_before;
      return Ok();
    }

    Status Finish(std::string& text) override {
      const bool denormalizes = model_.denormalization.has_char_map;
      PutBytes(/*at_end=*/true, denormalizes ? whole_text_ : text);
      saw_prefix_ = any_text_ = false;
      at_begin_ = true;
      if (!denormalizes) return Ok();
      SentencePieceNormalizer::Output result;
      const std::string whole = std::exchange(whole_text_, {});
      LATTICE_TRY_VOID(tokenizer_.denormalizer_.Run(whole, /*with_origins=*/false, result));
      text += result.text;
      return Ok();
    }

   private:
    // A character is shown once it is whole; a byte that belongs to none is U+FFFD.
    void PutBytes(bool at_end, std::string& text) {
      std::string_view rest = bytes_;
      while (!rest.empty() && (at_end || CompleteUtf8Length(rest) > 0)) {
        const Utf8Step step = DecodeUtf8(rest);
        const std::size_t n = step.valid ? step.n_bytes : 1;
        text += step.valid ? rest.substr(0, n) : kReplacement;
        rest.remove_prefix(n);
      }
      bytes_.erase(0, bytes_.size() - rest.size());
    }

    // Returns true when the piece's space was the dummy prefix and there cannot be another.
    bool AppendPiece(TokenId id, std::string& text) const {
      if (model_.TypeOf(id) == Type::kControl) return false;
      if (model_.TypeOf(id) == Type::kUnknown) {
        text += model_.unk_surface;
        return false;
      }
      std::string_view piece = model_.TextOf(id);
      const SentencePieceModel::Normalization& spec = model_.normalization;
      bool saw_prefix = false;
      if (at_begin_ && (spec.add_dummy_prefix || spec.remove_extra_whitespaces) &&
          piece.starts_with(kSpaceSymbol)) {
        piece.remove_prefix(kSpaceSymbol.size());
        saw_prefix = !spec.remove_extra_whitespaces;
      }
      AppendSpaced(piece, text);
      return saw_prefix;
    }

    const SentencePieceTokenizer& tokenizer_;
    const SentencePieceModel& model_;
    std::string bytes_;       // that are no character yet
    std::string whole_text_;  // kept for the denormaliser
    bool at_begin_ = true;    // a space symbol here is the dummy prefix
    bool saw_prefix_ = false;
    bool any_text_ = false;
  };

  static void AppendSpaced(std::string_view piece, std::string& text) {
    for (std::size_t end = 0; (end = piece.find(kSpaceSymbol)) != std::string_view::npos;) {
      text += piece.substr(0, end);
      text += ' ';
      piece.remove_prefix(end + kSpaceSymbol.size());
    }
    text += piece;
  }

  SentencePieceModel model_;
  Trie user_defined_, no_pieces_;
  SentencePieceNormalizer normalizer_, denormalizer_;
  std::unique_ptr<SentencePieceSegmenter> segmenter_;
  bool has_markers_ = false;  // user-defined pieces of more than white space
};

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::FromSentencePiece(std::string_view model) {
  LATTICE_TRY(SentencePieceModel parsed, SentencePieceModel::Parse(model));
  return SentencePieceTokenizer::Make(std::move(parsed));
}

}  // namespace lattice::tokenizers
