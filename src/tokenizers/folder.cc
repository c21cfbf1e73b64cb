#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "tokenizers/pipeline.h"
#include "tokenizers/tokenizer.h"

namespace lattice::tokenizers {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFileBytes = std::size_t{256} << 20;

bool Exists(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored);
}

// What a BERT folder without tokenizer.json says about its vocab.txt.
struct BertConfig {
  BertNormalizerOptions normalizer;
  std::string unk = "[UNK]", cls = "[CLS]", sep = "[SEP]", pad = "[PAD]", mask = "[MASK]";
};

// A special token is a string, or an object that holds it.
Status ReadTokenName(const JsonView& config, std::string_view key, std::string& name) {
  const auto value = config.Find(key);
  if (!value) return Ok();
  const auto content = value->Find("content");
  LATTICE_TRY(const std::string_view text, (content ? *content : *value).String());
  name = text;
  return Ok();
}

Result<BertConfig> ReadBertConfig(const fs::path& file) {
  BertConfig config;
  if (!Exists(file)) return config;
  LATTICE_TRY(const std::string text, ReadFile(file, kMaxFileBytes));
  LATTICE_TRY(const boost::json::value document, ParseJson(text));
  const JsonView root(document, file.string() + ": ");
  LATTICE_TRY(config.normalizer.lowercase, root.BoolOr("do_lower_case", true));
  LATTICE_TRY(config.normalizer.handle_cjk, root.BoolOr("tokenize_chinese_chars", true));
  LATTICE_TRY(config.normalizer.strip_accents,
              root.BoolOr("strip_accents", config.normalizer.lowercase));
  LATTICE_TRY_VOID(ReadTokenName(root, "unk_token", config.unk));
  LATTICE_TRY_VOID(ReadTokenName(root, "cls_token", config.cls));
  LATTICE_TRY_VOID(ReadTokenName(root, "sep_token", config.sep));
  LATTICE_TRY_VOID(ReadTokenName(root, "pad_token", config.pad));
  LATTICE_TRY_VOID(ReadTokenName(root, "mask_token", config.mask));
  return config;
}

// The special tokens of `config` that the vocabulary has, as a tokenizer.json lists them.
boost::json::array AddedTokenList(const BertConfig& config, const TokenModel& model) {
  boost::json::array list;
  for (const std::string& name : {config.pad, config.unk, config.cls, config.sep, config.mask}) {
    if (const auto id = model.Find(name)) {
      list.push_back({{"id", *id}, {"content", name}, {"special", true}, {"normalized", false}});
    }
  }
  return list;
}

Result<std::shared_ptr<const Tokenizer>> FromVocabTxt(const fs::path& folder) {
  LATTICE_TRY(const std::string lines, ReadFile(folder / "vocab.txt", kMaxFileBytes));
  LATTICE_TRY(const BertConfig config, ReadBertConfig(folder / "tokenizer_config.json"));
  PipelineParts parts;
  LATTICE_TRY(parts.model, MakeWordPieceFromLines(lines, config.unk));
  const auto cls = parts.model->Find(config.cls), sep = parts.model->Find(config.sep);
  if (!cls || !sep) {
    return Error{ErrorCode::kCorruptData, (folder / "vocab.txt").string() + ": '" +
                                              (cls ? config.sep : config.cls) + "' is missing"};
  }
  parts.normalizer = MakeBertNormalizer(config.normalizer);
  const std::string where = folder.string() + ": ";
  const boost::json::value pre = {{"type", "BertPreTokenizer"}};
  LATTICE_TRY(PreTokenizerParts cut, MakePreTokenizer(JsonView(pre, where), /*raw_bytes=*/false));
  parts.pre_tokenizer = std::move(cut.pre_tokenizer);
  const boost::json::value decoder = {{"type", "WordPiece"}};
  LATTICE_TRY(parts.decoder, MakeDecoder(JsonView(decoder, where)));
  const boost::json::value post = {
      {"type", "BertProcessing"}, {"cls", {config.cls, *cls}}, {"sep", {config.sep, *sep}}};
  LATTICE_TRY(parts.post_processor,
              PostProcessor::FromJson(JsonView(post, where), parts.model->vocab_size()));
  const boost::json::value added = AddedTokenList(config, *parts.model);
  LATTICE_TRY(parts.added_tokens,
              AddedTokens::FromJson(JsonView(added, where), *parts.model, parts.normalizer.get()));
  return MakePipeline(std::move(parts));
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::FromFolder(const fs::path& folder) {
  if (const fs::path file = folder / "tokenizer.json"; Exists(file)) {
    LATTICE_TRY(const std::string text, ReadFile(file, kMaxFileBytes));
    auto tokenizer = FromJson(text);
    if (!tokenizer) return std::move(tokenizer).error().Within(folder.string());
    return tokenizer;
  }
  for (const char* name : {"tokenizer.model", "spiece.model", "sentencepiece.bpe.model"}) {
    const fs::path file = folder / name;
    if (!Exists(file)) continue;
    LATTICE_TRY(const std::string model, ReadFile(file, kMaxFileBytes));
    auto tokenizer = FromSentencePiece(model);
    if (!tokenizer) return std::move(tokenizer).error().Within(file.string());
    return tokenizer;
  }
  if (Exists(folder / "vocab.txt")) return FromVocabTxt(folder);
  return Error{ErrorCode::kNotFound,
               folder.string() +
                   ": no tokenizer.json, tokenizer.model, spiece.model, sentencepiece.bpe.model or "
                   "vocab.txt"};
}

}  // namespace lattice::tokenizers
