#include <algorithm>
#include <string>
#include <utility>

#include "base/json.h"
#include "tokenizers/pipeline.h"
#include "tokenizers/tokenizer.h"

namespace lattice::tokenizers {
namespace {

// Whether the model takes plain bytes for words spelled in the byte alphabet: not when it puts
// marks of its own between the letters.
bool TakesRawBytes(const JsonView& model) {
  const auto type = model.Find("type");
  if (type && (!type->IsString() || type->value().get_string() != "BPE")) return false;
  if (!type && !model.Find("merges")) return false;
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const auto affix = model.Find(key);
    if (affix && !(affix->IsString() && affix->value().get_string().empty())) return false;
  }
  return true;
}

Result<PipelineParts> ReadParts(const JsonView& root) {
  PipelineParts parts;
  LATTICE_TRY(const JsonView model, root.Get("model"));
  if (const auto spec = root.Find("normalizer")) {
    LATTICE_TRY(parts.normalizer, MakeNormalizer(*spec));
  }
  BpeInput input = BpeInput::kAsSpelled;
  if (const auto spec = root.Find("pre_tokenizer")) {
    LATTICE_TRY(PreTokenizerParts pre, MakePreTokenizer(*spec, TakesRawBytes(model)));
    parts.pre_tokenizer = std::move(pre.pre_tokenizer);
    input = pre.input;
  }
  LATTICE_TRY(parts.model, MakeTokenModel(model, input));
  if (const auto list = root.Find("added_tokens")) {
    LATTICE_TRY(parts.added_tokens,
                AddedTokens::FromJson(*list, *parts.model, parts.normalizer.get()));
  }
  if (const auto spec = root.Find("post_processor")) {
    const std::size_t vocab_size = std::max(parts.model->vocab_size(), parts.added_tokens.end_id());
    LATTICE_TRY(parts.post_processor, PostProcessor::FromJson(*spec, vocab_size));
  }
  if (const auto spec = root.Find("decoder")) {
    LATTICE_TRY(parts.decoder, MakeDecoder(*spec));
  }
  return parts;
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::FromJson(std::string_view tokenizer_json) {
  LATTICE_TRY(const boost::json::value document, ParseJson(tokenizer_json));
  const JsonView root(document, "tokenizer.json: ");
  if (!root.IsObject()) return root.Complain("expected an object");
  LATTICE_TRY(PipelineParts parts, ReadParts(root));
  return MakePipeline(std::move(parts));
}

}  // namespace lattice::tokenizers
