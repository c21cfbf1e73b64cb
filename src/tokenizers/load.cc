#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "tokenizers/decoder.h"
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

/// Whether a pre-tokenizer or decoder, or a step of it, is the one of the byte alphabet.
bool SpellsBytes(const std::optional<JsonView>& spec) {
  if (!spec) return false;
  if (const auto type = spec->Find("type"); type && type->IsString()) {
    if (type->value().get_string() == "ByteLevel") return true;
  }
  for (const char* list : {"pretokenizers", "decoders"}) {
    const auto steps = spec->Find(list);
    const auto items = steps ? steps->Array() : std::vector<JsonView>();
    if (items &&
        std::ranges::any_of(*items, [](const JsonView& item) { return SpellsBytes(item); }))
      return true;
  }
  return false;
}

/// Who encodes says how long a text may be (EncodeOptions), as with the reference; but windows that
/// never move on are wrong wherever they stand.
Status CheckTruncation(const JsonView& root, const PostProcessor& post_processor) {
  const auto truncation = root.Find("truncation");
  if (!truncation) return Ok();
  if (!truncation->IsObject()) return truncation->Complain("expected an object");
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  LATTICE_TRY(const std::int64_t stride, truncation->IntOr("stride", 0, 0, kMost));
  LATTICE_TRY(const std::int64_t length, truncation->IntOr("max_length", kMost, 0, kMost));
  const auto n_added = static_cast<std::int64_t>(post_processor.n_added(/*pair=*/false));
  if (stride == 0 || stride < length - n_added) return Ok();
  return Error{ErrorCode::kCorruptData, truncation->where() + ".stride: " + std::to_string(stride) +
                                            " is not below max_length " + std::to_string(length) +
                                            " less the " + std::to_string(n_added) +
                                            " tokens that are added"};
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
  LATTICE_TRY_VOID(CheckTruncation(root, parts.post_processor));
  const auto decoder = root.Find("decoder");
  if (decoder) {
    LATTICE_TRY(parts.decoder, MakeDecoder(*decoder));
  }
  // Some files pair a vocabulary in the byte alphabet with another kind's decoder ("HelloĠworld").
  const bool spells_bytes = SpellsBytes(root.Find("pre_tokenizer"));
  if (spells_bytes && !SpellsBytes(decoder)) parts.decoder = MakeByteLevelDecoder();
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
