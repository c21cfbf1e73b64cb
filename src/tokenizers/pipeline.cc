#include "tokenizers/pipeline.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "tokenizers/char_index.h"
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

  Result<std::string> Decode(std::span<const TokenId> ids,
                             bool skip_special_tokens) const override {
    std::vector<std::string> tokens;
    tokens.reserve(ids.size());
    for (const TokenId id : ids) {
      if (id < 0 || static_cast<std::size_t>(id) >= vocab_size_) {
        return Error{ErrorCode::kInvalidArgument, "token id " + std::to_string(id) +
                                                      " is outside the vocabulary of " +
                                                      std::to_string(vocab_size_)};
      }
      const auto text = DecoderText(id);
      if (!text || (skip_special_tokens && parts_.added_tokens.IsSpecial(*text))) continue;
      tokens.emplace_back(*text);
    }
    if (parts_.decoder != nullptr && !tokens.empty()) {
      LATTICE_TRY_VOID(parts_.decoder->Apply(tokens));
    }
    std::string all;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0 && parts_.decoder == nullptr) all += ' ';
      all += tokens[i];
    }
    return all;
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

 private:
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
    std::string repaired;
    if (!IsValidUtf8(text)) {
      repaired = ToValidUtf8(text);
      text = repaired;
    }
    scratch.n_bytes = 0;
    scratch.raw_sections.clear();
    parts_.added_tokens.Cut(text, /*normalized=*/false, options.special_as_text,
                            scratch.raw_sections);
    for (const AddedTokens::Section& section : scratch.raw_sections) {
      const std::string_view part = text.substr(section.span.begin, Length(section.span));
      if (section.token != nullptr) {
        PutAdded(*section.token, section.span, part, options, out);
        continue;
      }
      LATTICE_TRY_VOID(EncodeSection(part, section.span.begin, options, scratch, out));
    }
    if (options.with_offsets) CountCodePoints(text, out);
    return Ok();
  }

  // Normalises a stretch without added tokens of the raw kind, and encodes it.
  Status EncodeSection(std::string_view part, std::uint32_t base, const EncodeOptions& options,
                       Scratch& scratch, std::vector<Found>& out) const {
    AlignedText& text = scratch.text;
    text.Assign(part, base, options.with_offsets || needs_origins_);
    if (parts_.normalizer != nullptr) LATTICE_TRY_VOID(parts_.normalizer->Apply(text));
    // All sections together: rules that lengthen each of many must not take hours.
    LATTICE_TRY_VOID(CheckTextSize(scratch.n_bytes + text.view().size()));
    if (text.view().empty()) return Ok();
    if (!parts_.added_tokens.LooksFor(/*normalized=*/true)) {
      scratch.words.assign(1, {0, static_cast<std::uint32_t>(text.view().size())});
      return EncodeWords(options, scratch, out);
    }
    scratch.sections.clear();
    parts_.added_tokens.Cut(text.view(), /*normalized=*/true, options.special_as_text,
                            scratch.sections);
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
      LATTICE_TRY_VOID(EncodeWords(options, scratch, out));
    }
    return Ok();
  }

  // Cuts scratch.words of scratch.text into words and those into tokens.
  Status EncodeWords(const EncodeOptions& options, Scratch& scratch,
                     std::vector<Found>& out) const {
    AlignedText& text = scratch.text;
    if (parts_.pre_tokenizer != nullptr) {
      LATTICE_TRY_VOID(parts_.pre_tokenizer->Apply(text, scratch.words));
    }
    scratch.n_bytes += text.view().size();
    LATTICE_TRY_VOID(CheckTextSize(scratch.n_bytes));
    scratch.pieces.clear();
    LATTICE_TRY_VOID(
        parts_.model->Tokenize(text.view(), scratch.words, *scratch.model, scratch.pieces));
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
