#include "tokenizers/pipeline.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "tokenizers/char_index.h"
#include "tokenizers/plain_ranges.h"
#include "tokenizers/scratch_pool.h"
#include "tokenizers/truncation.h"
#include "tokenizers/unicode.h"

namespace lattice::tokenizers {
namespace {

// How many spaces a token begins and ends with, for trimming.
struct Margins {
  std::uint32_t leading = 0, trailing = 0;
};

// A token of a text and where it came from; bytes, then code points of the caller's text.
struct Found {
  TokenId id;
  Span source;
  Margins margins;
};

// What the steps of encoding one text need to know.
struct Request {
  const EncodeOptions& options;
  std::vector<Span> plain;  // options.plain_ranges, in whole characters of the text as it is read
};

struct Scratch {
  AlignedText text;
  std::vector<AddedTokens::Section> raw_sections, sections;
  std::vector<Span> words;
  std::vector<Piece> pieces;
  std::unique_ptr<TokenModel::Scratch> model;
  std::size_t n_bytes = 0;  // of the sections of a text that were encoded, as the model read them
};

// After texts of more than this, buffers are given back to the system.
constexpr std::size_t kKeptScratchBytes = std::size_t{1} << 20;

Margins MarginsOf(std::string_view token) {
  // 'Ġ' is how byte-level vocabularies spell a space.
  const auto blank = [](char32_t c) { return c == 0x120 || IsSpace(c); };
  Margins margins;
  bool leading = true;
  while (!token.empty()) {
    const Utf8Step step = DecodeUtf8(token);
    const bool is_blank = blank(step.scalar);
    leading = leading && is_blank;
    margins.leading += leading ? 1 : 0;
    margins.trailing = is_blank ? margins.trailing + 1 : 0;
    token.remove_prefix(step.n_bytes);
  }
  return margins;
}

class Pipeline : public Tokenizer {
 public:
  explicit Pipeline(PipelineParts parts)
      : parts_(std::move(parts)),
        vocab_size_(std::max(parts_.model->vocab_size(), parts_.added_tokens.end_id())),
        needs_origins_(parts_.pre_tokenizer != nullptr && parts_.pre_tokenizer->needs_origins()) {}

  Result<Encoding> Encode(std::string_view text, const EncodeOptions& options) const override {
    return EncodeAll({&text, 1}, options);
  }

  Result<Encoding> EncodePair(std::string_view first, std::string_view second,
                              const EncodeOptions& options) const override {
    const std::string_view texts[] = {first, second};
    return EncodeAll(texts, options);
  }

  std::unique_ptr<TokenStream> StartDecoding(bool skip_special_tokens) const override {
    return std::make_unique<Stream>(*this, skip_special_tokens);
  }

  std::size_t vocab_size() const override { return vocab_size_; }

  std::optional<TokenId> Find(std::string_view token) const override {
    if (const AddedToken* added = parts_.added_tokens.Find(token)) return added->id;
    return parts_.model->Find(token);
  }

  std::optional<std::string_view> TokenText(TokenId id) const override {
    if (const AddedToken* added = parts_.added_tokens.Find(id)) return added->content;
    return parts_.model->Text(id);
  }

  bool IsSpecial(TokenId id) const override {
    const auto text = DecoderText(id);
    return text && parts_.added_tokens.IsSpecial(*text);
  }

  std::optional<std::string> TokenBytes(TokenId id) const override {
    const auto text = DecoderText(id);
    if (!text) return std::nullopt;
    std::string bytes(*text);
    if (parts_.decoder != nullptr) parts_.decoder->ToBytes(bytes);
    return bytes;
  }

 private:
  // The last sink of a decoding: tokens as text, with spaces between them if no decoder sees to it.
  class Collector final : public TokenSink {
   public:
    explicit Collector(bool joins) : joins_(joins) {}
    void Collect(std::string& text) { text_ = &text; }

    Status Text(std::string_view fragment) override {
      if (std::exchange(owes_space_, false)) *text_ += ' ';
      *text_ += fragment;
      return Ok();
    }
    Status EndToken() override {
      owes_space_ = joins_;
      return Ok();
    }
    Status Finish() override {
      owes_space_ = false;
      return Ok();
    }

   private:
    std::string* text_ = nullptr;
    bool joins_;
    bool owes_space_ = false;
  };

  class Stream final : public TokenStream {
   public:
    Stream(const Pipeline& pipeline, bool skip_special_tokens)
        : pipeline_(pipeline),
          skip_special_tokens_(skip_special_tokens),
          collector_(/*joins=*/pipeline.parts_.decoder == nullptr) {
      if (pipeline.parts_.decoder != nullptr) {
        decoder_ = pipeline.parts_.decoder->Start(collector_);
        first_ = decoder_.get();
      }
    }

    Status Push(TokenId id, std::string& text) override {
      LATTICE_TRY_VOID(CheckId(id, pipeline_.vocab_size_));
      const auto token = pipeline_.DecoderText(id);
      if (!token) return Ok();
      if (skip_special_tokens_ && pipeline_.parts_.added_tokens.IsSpecial(*token)) return Ok();
      collector_.Collect(text);
      LATTICE_TRY_VOID(first_->Text(*token));
      return first_->EndToken();
    }
    Status Finish(std::string& text) override {
      collector_.Collect(text);
      return first_->Finish();
    }

   private:
    const Pipeline& pipeline_;
    bool skip_special_tokens_;
    Collector collector_;
    std::unique_ptr<TokenSink> decoder_;
    TokenSink* first_ = &collector_;
  };

  std::optional<std::string_view> DecoderText(TokenId id) const {
    if (const AddedToken* added = parts_.added_tokens.Find(id)) {
      return parts_.added_tokens.DecoderText(*added);
    }
    return parts_.model->Text(id);
  }

  bool trims() const { return !parts_.post_processor.trims().empty(); }

  Result<Encoding> EncodeAll(std::span<const std::string_view> texts,
                             const EncodeOptions& options) const {
    const bool pair = texts.size() == 2;
    if (pair && !options.plain_ranges.empty()) return NoRangesInPairs();
    const std::size_t n_added =
        options.add_special_tokens ? parts_.post_processor.n_added(pair) : 0;
    if (options.max_tokens != 0 && options.max_tokens < n_added) {
      return Error{ErrorCode::kInvalidArgument,
                   "max_tokens " + std::to_string(options.max_tokens) + " leaves no room for the " +
                       std::to_string(n_added) + " special tokens of the template"};
    }
    std::vector<Found> found[2];
    {
      auto scratch = pool_.Take();
      if (scratch->model == nullptr) scratch->model = parts_.model->MakeScratch();
      std::size_t n_bytes = 0;
      for (std::size_t i = 0; i < texts.size(); ++i) {
        LATTICE_TRY_VOID(EncodeText(texts[i], options, *scratch, found[i]));
        n_bytes += scratch->n_bytes;
      }
      if (n_bytes > kKeptScratchBytes) *scratch = {};
    }
    const std::size_t n_untruncated = found[0].size() + found[1].size() + n_added;
    if (options.max_tokens != 0) {
      const auto [n_first, n_second] =
          TruncatedLengths(found[0].size(), found[1].size(), options.max_tokens - n_added);
      found[0].resize(n_first);
      found[1].resize(n_second);
    }
    Encoding encoding = Assemble(found, pair, options);
    encoding.n_tokens_untruncated = n_untruncated;
    return encoding;
  }

  Status EncodeText(std::string_view text, const EncodeOptions& options, Scratch& scratch,
                    std::vector<Found>& out) const {
    LATTICE_TRY_VOID(CheckTextSize(text.size()));
    Request request{options, {}};
    LATTICE_TRY(request.plain, PlainSpans(text, options.plain_ranges));
    std::string repaired;
    if (!IsValidUtf8(text)) {
      repaired = ToValidUtf8(text);
      text = repaired;
    }
    scratch.n_bytes = 0;
    scratch.raw_sections.clear();
    parts_.added_tokens.Cut(text, /*normalized=*/false, options.special_as_text, request.plain,
                            scratch.raw_sections);
    for (const AddedTokens::Section& section : scratch.raw_sections) {
      const std::string_view part = text.substr(section.span.begin, Length(section.span));
      if (section.token != nullptr) {
        PutAdded(*section.token, section.span, part, options, out);
        continue;
      }
      LATTICE_TRY_VOID(EncodeSection(part, section.span.begin, request, scratch, out));
    }
    if (options.with_offsets) CountCodePoints(text, out);
    return Ok();
  }

  // Normalises a stretch without added tokens of the raw kind, and encodes it.
  Status EncodeSection(std::string_view part, std::uint32_t base, const Request& request,
                       Scratch& scratch, std::vector<Found>& out) const {
    const EncodeOptions& options = request.options;
    AlignedText& text = scratch.text;
    text.Assign(part, base, options.with_offsets || needs_origins_ || !request.plain.empty());
    if (parts_.normalizer != nullptr) LATTICE_TRY_VOID(parts_.normalizer->Apply(text));
    // All sections together: rules that lengthen each of many must not take hours.
    LATTICE_TRY_VOID(CheckTextSize(scratch.n_bytes + text.view().size()));
    if (text.view().empty()) return Ok();
    if (!parts_.added_tokens.LooksFor(/*normalized=*/true)) {
      scratch.words.assign(1, {0, static_cast<std::uint32_t>(text.view().size())});
      return EncodeWords(request, scratch, out);
    }
    scratch.sections.clear();
    parts_.added_tokens.Cut(text.view(), /*normalized=*/true, options.special_as_text,
                            PlainSpans(text, request.plain), scratch.sections);
    // The pre-tokeniser edits the text, so each stretch is taken from a copy.
    const AlignedText normalised = text;
    for (const AddedTokens::Section& section : scratch.sections) {
      if (section.token != nullptr) {
        const Span source = normalised.tracked() ? normalised.OriginOf(section.span) : Span{};
        const std::string_view spelled =
            normalised.view().substr(section.span.begin, Length(section.span));
        PutAdded(*section.token, source, spelled, options, out);
        continue;
      }
      text.AssignPart(normalised, section.span);
      scratch.words.assign(1, {0, static_cast<std::uint32_t>(text.view().size())});
      LATTICE_TRY_VOID(EncodeWords(request, scratch, out));
    }
    return Ok();
  }

  // Cuts scratch.words of scratch.text into words and those into tokens.
  Status EncodeWords(const Request& request, Scratch& scratch, std::vector<Found>& out) const {
    const EncodeOptions& options = request.options;
    AlignedText& text = scratch.text;
    if (parts_.pre_tokenizer != nullptr) {
      LATTICE_TRY_VOID(parts_.pre_tokenizer->Apply(text, scratch.words));
    }
    scratch.n_bytes += text.view().size();
    LATTICE_TRY_VOID(CheckTextSize(scratch.n_bytes));
    scratch.pieces.clear();
    LATTICE_TRY_VOID(
        parts_.model->Tokenize(text.view(), scratch.words, *scratch.model, scratch.pieces));
    if (!request.plain.empty()) LATTICE_TRY_VOID(RespellSpecial(request.plain, scratch));
    out.reserve(out.size() + scratch.pieces.size());
    for (const Piece& piece : scratch.pieces) {
      Found token{piece.id, {}, {}};
      if (options.with_offsets && piece.begin < piece.end) {
        token.source = text.OriginOf({piece.begin, piece.end});
        if (trims()) token.margins = MarginsOf(parts_.model->Text(piece.id).value_or(""));
      }
      out.push_back(token);
    }
    return Ok();
  }

  // Whether the model made a special token of plain text that spells it: Unigram has "</s>" among
  // its pieces. The token for unknown text spells something else.
  bool IsForged(const Piece& piece, const AlignedText& text, std::span<const Span> plain) const {
    if (piece.begin == piece.end) return false;
    const AddedToken* token = parts_.added_tokens.Find(piece.id);
    return token != nullptr && token->special &&
           text.view().substr(piece.begin, piece.end - piece.begin) == token->content &&
           Touches(plain, text.OriginOf({piece.begin, piece.end}));
  }

  // Cuts special tokens that the model made of plain text into characters, each a word of its own.
  Status RespellSpecial(std::span<const Span> plain, Scratch& scratch) const {
    const AlignedText& text = scratch.text;
    const auto is_forged = [&](const Piece& piece) { return IsForged(piece, text, plain); };
    if (std::ranges::none_of(scratch.pieces, is_forged)) return Ok();
    std::vector<Piece> pieces;
    for (const Piece& piece : scratch.pieces) {
      if (!is_forged(piece)) {
        pieces.push_back(piece);
        continue;
      }
      scratch.words.clear();
      for (std::uint32_t at = piece.begin; at < piece.end;) {
        const std::uint32_t begin = at;
        at += DecodeUtf8(text.view().substr(at)).n_bytes;
        scratch.words.push_back({begin, at});
      }
      LATTICE_TRY_VOID(parts_.model->Tokenize(text.view(), scratch.words, *scratch.model, pieces));
    }
    std::erase_if(pieces, is_forged);  // A special token of one character has no other spelling.
    scratch.pieces.swap(pieces);
    return Ok();
  }

  void PutAdded(const AddedToken& token, Span source, std::string_view spelled,
                const EncodeOptions& options, std::vector<Found>& out) const {
    Found found{token.id, source, {}};
    if (options.with_offsets && trims()) found.margins = MarginsOf(spelled);
    out.push_back(found);
  }

  // Bytes to code points, and the post-processor's trimming, which counts in them.
  void CountCodePoints(std::string_view text, std::vector<Found>& tokens) const {
    const CharIndex index(text);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      Span& span = tokens[i].source;
      span = {index.CharsBefore(span.begin), index.CharsBefore(span.end)};
      for (const bool spares_prefix : parts_.post_processor.trims()) {
        Trim(tokens[i].margins, /*first=*/i == 0, spares_prefix, span);
      }
    }
  }

  static void Trim(Margins margins, bool first, bool spares_prefix, Span& span) {
    if (spares_prefix && margins.leading == 1 && (first || span.begin == 0)) margins.leading = 0;
    span.begin = std::min(span.begin + margins.leading, span.end);
    if (span.end >= margins.trailing) {
      span.end = std::max(span.end - margins.trailing, span.begin);
    }
  }

  Encoding Assemble(const std::vector<Found> (&found)[2], bool pair,
                    const EncodeOptions& options) const {
    using Kind = PostProcessor::Part::Kind;
    Encoding encoding;
    const std::size_t n = found[0].size() + found[1].size() + parts_.post_processor.n_added(pair);
    encoding.ids.reserve(n);
    encoding.type_ids.reserve(n);
    if (options.with_offsets) encoding.offsets.reserve(n);
    for (const PostProcessor::Part& part : parts_.post_processor.parts(pair)) {
      if (part.kind == Kind::kToken) {
        if (!options.add_special_tokens) continue;
        encoding.ids.push_back(part.id);
        if (options.with_offsets) encoding.offsets.emplace_back();
      } else {
        for (const Found& token : found[part.kind == Kind::kFirst ? 0 : 1]) {
          encoding.ids.push_back(token.id);
          if (options.with_offsets) {
            encoding.offsets.push_back({token.source.begin, token.source.end});
          }
        }
      }
      encoding.type_ids.resize(encoding.ids.size(), part.type_id);
    }
    return encoding;
  }

  static std::size_t Length(Span span) { return span.end - span.begin; }

  PipelineParts parts_;
  std::size_t vocab_size_;
  bool needs_origins_;
  mutable ScratchPool<Scratch> pool_;
};

}  // namespace

std::shared_ptr<const Tokenizer> MakePipeline(PipelineParts parts) {
  return std::make_shared<const Pipeline>(std::move(parts));
}

}  // namespace lattice::tokenizers
