#include <algorithm>
#include <boost/json/value.hpp>
#include <cmath>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "tokenizers/bpe_model.h"
#include "tokenizers/known_pre.h"
#include "tokenizers/pipeline.h"
#include "tokenizers/scored_bpe.h"
#include "tokenizers/tokenizer.h"
#include "tokenizers/vocabulary_data.h"

namespace lattice::tokenizers {
namespace {

using Data = VocabularyData;

constexpr std::string_view kSpaceSymbol = "\u2581";

Error Corrupt(std::string message) {
  return {ErrorCode::kCorruptData, "tokenizer.ggml." + std::move(message)};
}

bool IsRunOfSpaces(std::string_view token) {
  return !token.empty() && token.find_first_not_of(' ') == std::string_view::npos;
}

/// Makes the parts of a pipeline from checked data.
class Builder {
 public:
  explicit Builder(const Data& data) : data_(data) {}

  Status Check() const {
    const std::size_t n = data_.tokens.size();
    if (n == 0) return Corrupt("tokens: missing");
    if (n > static_cast<std::size_t>(Vocabulary::kMaxId)) {
      return Corrupt("tokens: " + std::to_string(n) + " of them; the most is " +
                     std::to_string(Vocabulary::kMaxId));
    }
    LATTICE_TRY_VOID(CheckSize("scores", data_.scores.size()));
    LATTICE_TRY_VOID(CheckSize("token_type", data_.types.size()));
    for (std::size_t i = 0; i < n; ++i) {
      if (!IsValidUtf8(data_.tokens[i])) return At("tokens", i, "not UTF-8");
      if (TypeOf(i) < Data::kNormal || TypeOf(i) > Data::kByte) {
        return At("token_type", i, "unknown type " + std::to_string(TypeOf(i)));
      }
      if (!data_.scores.empty() && !std::isfinite(data_.scores[i])) {
        return At("scores", i, "not finite");
      }
    }
    const std::pair<std::string_view, std::optional<TokenId>> ids[] = {
        {"bos", data_.bos},         {"eos", data_.eos},         {"eot", data_.eot},
        {"eom", data_.eom},         {"unknown", data_.unknown}, {"seperator", data_.separator},
        {"padding", data_.padding}, {"mask", data_.mask}};
    for (const auto& [name, id] : ids) {
      if (!id || Has(*id)) continue;
      return Corrupt(std::string(name) + "_token_id: " + std::to_string(*id) +
                     " is outside the vocabulary of " + std::to_string(n));
    }
    return Ok();
  }

  Result<PipelineParts> Build() {
    if (data_.model == "gpt2") return BuildGpt2();
    if (data_.model == "llama") return BuildLlama();
    if (data_.model == "bert") return BuildBert();
    if (data_.model == "t5") return BuildT5();
    if (data_.model == "gemma4") return BuildGemma4();
    return Error{ErrorCode::kUnsupported, "tokenizer.ggml.model: unknown model '" +
                                              std::string(data_.model) +
                                              "'; known are bert, gemma4, gpt2, llama, t5"};
  }

 private:
  static Error At(std::string_view key, std::size_t index, std::string what) {
    return Corrupt(std::string(key) + "[" + std::to_string(index) + "]: " + std::move(what));
  }
  Status CheckSize(std::string_view key, std::size_t n) const {
    if (n == 0 || n == data_.tokens.size()) return Ok();
    return Corrupt(std::string(key) + ": " + std::to_string(n) + " values for " +
                   std::to_string(data_.tokens.size()) + " tokens");
  }
  bool Has(TokenId id) const {
    return id >= 0 && static_cast<std::size_t>(id) < data_.tokens.size();
  }

  // Without types, the ids that end or begin a text tell at least these.
  std::int32_t TypeOf(std::size_t i) const {
    if (!data_.types.empty()) return data_.types[i];
    const auto id = static_cast<TokenId>(i);
    const bool controls = id == data_.bos || id == data_.eos || id == data_.eot || id == data_.eom;
    return controls ? Data::kControl : Data::kNormal;
  }
  bool IsSpecial(std::size_t i) const {
    return TypeOf(i) == Data::kControl || TypeOf(i) == Data::kUnknown;
  }

  // Special and user-defined tokens, as a tokenizer.json lists them; but white space only on
  // demand.
  Status ReadAddedTokens(bool with_blank, PipelineParts& parts) const {
    std::vector<AddedToken> tokens;
    for (std::size_t i = 0; i < data_.tokens.size(); ++i) {
      const bool is_special = IsSpecial(i);
      if (data_.tokens[i].empty() || (!is_special && TypeOf(i) != Data::kUserDefined)) continue;
      if (!is_special && !with_blank && IsRunOfSpaces(data_.tokens[i])) continue;
      AddedToken token;
      token.id = static_cast<TokenId>(i);
      token.content = data_.tokens[i];
      token.special = is_special;
      tokens.push_back(std::move(token));
    }
    LATTICE_TRY(parts.added_tokens, AddedTokens::FromList(std::move(tokens)));
    return Ok();
  }

  // The tokens that text is made of. Special ones are added tokens only: no merge and no path makes
  // one of plain text.
  Result<Vocabulary> TextTokens() const {
    Vocabulary vocabulary;
    std::size_t n_bytes = 0;
    for (const std::string_view token : data_.tokens) n_bytes += token.size();
    vocabulary.Reserve(data_.tokens.size(), n_bytes);
    constexpr std::size_t kAhead = 16;
    for (std::size_t i = 0; i < data_.tokens.size(); ++i) {
      if (i + kAhead < data_.tokens.size()) vocabulary.Prefetch(data_.tokens[i + kAhead]);
      if (IsSpecial(i)) continue;
      LATTICE_TRY_VOID(vocabulary.Add(data_.tokens[i], static_cast<TokenId>(i)));
    }
    if (vocabulary.n_tokens() == 0) return Corrupt("token_type: no token stands for text");
    return vocabulary;
  }

  // add_bos and add_eos, with their ids.
  Status ReadTemplate(bool bos_by_default, bool eos_by_default, std::optional<TokenId> bos,
                      std::optional<TokenId> eos, PipelineParts& parts) const {
    const auto pick = [&](std::string_view name, bool adds, std::optional<TokenId> id,
                          std::optional<TokenId>& out) -> Status {
      if (!adds) return Ok();
      if (!id || !Has(*id)) {
        return Corrupt(std::string(name) + "_token_id: missing, and a text needs it");
      }
      out = id;
      return Ok();
    };
    std::optional<TokenId> before, after;
    LATTICE_TRY_VOID(pick("bos", data_.add_bos.value_or(bos_by_default), bos, before));
    LATTICE_TRY_VOID(pick("eos", data_.add_eos.value_or(eos_by_default), eos, after));
    parts.post_processor = PostProcessor::Around(before, after);
    return Ok();
  }

  Result<PipelineParts> BuildGpt2() const {
    PipelineParts parts;
    LATTICE_TRY(KnownPre pre, MakeKnownPre(data_.pre));
    LATTICE_TRY(Vocabulary vocabulary, TextTokens());
    BpeSpelling spelling;
    spelling.input = BpeInput::kRawBytes;
    auto model =
        MakeBpe(std::move(vocabulary), std::move(spelling), data_.merges, pre.ignore_merges);
    if (!model) return std::move(model).error().Within("tokenizer.ggml");
    parts.model = std::move(model).value();
    parts.normalizer = std::move(pre.normalizer);
    parts.pre_tokenizer = std::move(pre.pre_tokenizer);
    parts.decoder = MakeByteLevelDecoder();
    LATTICE_TRY_VOID(ReadAddedTokens(/*with_blank=*/true, parts));
    LATTICE_TRY_VOID(ReadTemplate(pre.add_bos, false, data_.bos, data_.eos, parts));
    return parts;
  }

  // What tokenizer.json files of SentencePiece models say: spaces as U+2581, bytes as fallback.
  Status ReadSpaceSymbols(bool add_prefix, PipelineParts& parts) const {
    const boost::json::value replace = {
        {"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kSpaceSymbol}};
    const boost::json::value prepend = {{"type", "Prepend"}, {"prepend", kSpaceSymbol}};
    boost::json::array steps;
    if (add_prefix) steps.push_back(prepend);
    steps.push_back(replace);
    const boost::json::value normalizer = {{"type", "Sequence"}, {"normalizers", steps}};
    LATTICE_TRY(parts.normalizer, MakeNormalizer(JsonView(normalizer, "")));

    boost::json::array back;
    back.push_back(
        {{"type", "Replace"}, {"pattern", {{"String", kSpaceSymbol}}}, {"content", " "}});
    back.push_back(boost::json::object{{"type", "ByteFallback"}});
    back.push_back(boost::json::object{{"type", "Fuse"}});
    if (add_prefix) {
      back.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
    }
    const boost::json::value decoder = {{"type", "Sequence"}, {"decoders", back}};
    LATTICE_TRY(parts.decoder, MakeDecoder(JsonView(decoder, "")));
    return Ok();
  }

  Result<PipelineParts> BuildLlama() const {
    if (data_.scores.empty()) return Corrupt("scores: missing, and model 'llama' needs them");
    SentencePieceModel model;
    model.algorithm = SentencePieceModel::Algorithm::kBpe;
    model.scores = data_.scores;
    std::vector<TokenId> whole;
    for (std::size_t i = 0; i < data_.tokens.size(); ++i) {
      const auto id = static_cast<TokenId>(i);
      const std::int32_t type = TypeOf(i);
      const bool is_text =
          type == Data::kNormal || type == Data::kUserDefined || type == Data::kUnused;
      std::string token(data_.tokens[i]);
      if (type == Data::kUserDefined && IsRunOfSpaces(token)) {
        token.clear();
        for (std::size_t j = 0; j < data_.tokens[i].size(); ++j) token += kSpaceSymbol;
        whole.push_back(id);
      }
      LATTICE_TRY_VOID((is_text ? model.from_text : model.reserved).Add(token, id));
      model.types.push_back(static_cast<SentencePieceModel::Type>(type));
    }
    model.unk = data_.unknown.value_or(0);
    PipelineParts parts;
    auto scored = MakeScoredBpe(std::move(model), whole);
    if (!scored) return std::move(scored).error().Within("tokenizer.ggml.tokens");
    parts.model = std::move(scored).value();
    LATTICE_TRY_VOID(ReadSpaceSymbols(data_.add_space_prefix.value_or(true), parts));
    LATTICE_TRY_VOID(ReadAddedTokens(/*with_blank=*/false, parts));
    LATTICE_TRY_VOID(
        ReadTemplate(true, false, data_.bos.value_or(1), data_.eos.value_or(2), parts));
    return parts;
  }

  Result<PipelineParts> BuildGemma4() const {
    PipelineParts parts;
    LATTICE_TRY(Vocabulary vocabulary, TextTokens());
    BpeSpelling spelling;
    spelling.byte_fallback = true;
    auto model = MakeBpe(std::move(vocabulary), std::move(spelling), data_.merges,
                         /*ignore_merges=*/false);
    if (!model) return std::move(model).error().Within("tokenizer.ggml");
    parts.model = std::move(model).value();
    LATTICE_TRY_VOID(ReadSpaceSymbols(data_.add_space_prefix.value_or(false), parts));
    const boost::json::value lines = {
        {"type", "Split"}, {"pattern", {{"Regex", "[^\\n]+|[\\n]+"}}}, {"behavior", "Isolated"}};
    LATTICE_TRY(PreTokenizerParts pre, MakePreTokenizer(JsonView(lines, ""), /*raw_bytes=*/false));
    parts.pre_tokenizer = std::move(pre.pre_tokenizer);
    LATTICE_TRY_VOID(ReadAddedTokens(/*with_blank=*/true, parts));
    LATTICE_TRY_VOID(ReadTemplate(true, false, data_.bos, data_.eos, parts));
    return parts;
  }

  // Word starts carry U+2581; what continues a word has lost its "##". Names in brackets are as
  // they were.
  static std::string WordPieceSpelling(std::string_view token) {
    if (token.starts_with(kSpaceSymbol)) return std::string(token.substr(kSpaceSymbol.size()));
    if (token.starts_with('[') && token.ends_with(']')) return std::string(token);
    return "##" + std::string(token);
  }

  Result<PipelineParts> BuildBert() const {
    Vocabulary vocabulary;
    for (std::size_t i = 0; i < data_.tokens.size(); ++i) {
      const std::string token =
          IsSpecial(i) ? std::string(data_.tokens[i]) : WordPieceSpelling(data_.tokens[i]);
      LATTICE_TRY_VOID(vocabulary.Add(token, static_cast<TokenId>(i)));
    }
    const TokenId unk = data_.unknown.value_or(100);
    if (!Has(unk)) return Corrupt("unknown_token_id: missing");
    PipelineParts parts;
    const std::string unk_token(*vocabulary.Text(unk));
    LATTICE_TRY(parts.model, MakeWordPiece(std::move(vocabulary), unk_token));
    BertNormalizerOptions options;
    options.lowercase = data_.lowercase.value_or(true);
    options.strip_accents = data_.strip_accents.value_or(options.lowercase);
    parts.normalizer = MakeBertNormalizer(options);
    const boost::json::value words = {{"type", "BertPreTokenizer"}};
    LATTICE_TRY(PreTokenizerParts pre, MakePreTokenizer(JsonView(words, ""), /*raw_bytes=*/false));
    parts.pre_tokenizer = std::move(pre.pre_tokenizer);
    const boost::json::value decoder = {{"type", "WordPiece"}};
    LATTICE_TRY(parts.decoder, MakeDecoder(JsonView(decoder, "")));
    LATTICE_TRY_VOID(ReadAddedTokens(/*with_blank=*/true, parts));
    const TokenId sep = data_.separator.value_or(data_.eos.value_or(102));
    LATTICE_TRY_VOID(ReadTemplate(true, true, data_.bos.value_or(101), sep, parts));
    return parts;
  }

  Result<PipelineParts> BuildT5() const {
    if (data_.scores.empty()) return Corrupt("scores: missing, and model 't5' needs them");
    PipelineParts parts;
    LATTICE_TRY(Vocabulary vocabulary, TextTokens());
    std::vector<double> scores(data_.scores.begin(), data_.scores.end());
    scores.resize(vocabulary.size());  // Special tokens at the end have no text here.
    std::optional<TokenId> unk = data_.unknown.value_or(2);
    if (static_cast<std::size_t>(*unk) >= data_.tokens.size()) unk.reset();
    LATTICE_TRY(parts.model, MakeUnigram(std::move(vocabulary), std::move(scores), unk,
                                         /*byte_fallback=*/false));
    LATTICE_TRY(parts.normalizer, T5Normalizer());
    const PrependScheme scheme =
        data_.add_space_prefix.value_or(true) ? PrependScheme::kAlways : PrependScheme::kNever;
    parts.pre_tokenizer = MakeMetaspace(kSpaceSymbol, scheme, /*split=*/true);
    const boost::json::value decoder = {
        {"type", "Metaspace"},
        {"prepend_scheme", scheme == PrependScheme::kAlways ? "always" : "never"},
        {"add_prefix_space", scheme == PrependScheme::kAlways}};
    LATTICE_TRY(parts.decoder, MakeDecoder(JsonView(decoder, "")));
    LATTICE_TRY_VOID(ReadAddedTokens(/*with_blank=*/true, parts));
    LATTICE_TRY_VOID(ReadTemplate(false, true, data_.bos, data_.eos.value_or(1), parts));
    return parts;
  }

  Result<std::unique_ptr<Normalizer>> T5Normalizer() const {
    std::vector<std::unique_ptr<Normalizer>> steps;
    if (!data_.char_map.empty()) {
      auto map = MakeCharMap(data_.char_map);
      if (!map) return std::move(map).error().Within("tokenizer.ggml.precompiled_charsmap");
      steps.push_back(std::move(map).value());
    }
    if (data_.remove_extra_whitespaces.value_or(false)) {
      const boost::json::value strip = {
          {"type", "Strip"}, {"strip_left", true}, {"strip_right", true}};
      const boost::json::value collapse = {
          {"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}};
      for (const boost::json::value& spec : {strip, collapse}) {
        LATTICE_TRY(auto step, MakeNormalizer(JsonView(spec, "")));
        steps.push_back(std::move(step));
      }
    }
    return MakeNormalizerSequence(std::move(steps));
  }

  const Data& data_;
};

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::FromVocabulary(const VocabularyData& data) {
  Builder builder(data);
  LATTICE_TRY_VOID(builder.Check());
  LATTICE_TRY(PipelineParts parts, builder.Build());
  return MakePipeline(std::move(parts));
}

}  // namespace lattice::tokenizers
