#include "engine/gguf_tokenizer.h"

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizers/vocabulary_data.h"

namespace lattice::engine {
namespace {

using tokenizers::VocabularyData;
using weights::GgufMetadata;

std::string Key(std::string_view name) { return "tokenizer.ggml." + std::string(name); }

Status ReadLists(const GgufMetadata& metadata, VocabularyData& data) {
  LATTICE_TRY(const weights::GgufStrings tokens, metadata.GetStrings(Key("tokens")));
  data.tokens.assign(tokens.begin(), tokens.end());
  if (metadata.Has(Key("scores"))) {
    LATTICE_TRY(data.scores, metadata.GetFloats(Key("scores")));
  }
  if (metadata.Has(Key("token_type"))) {
    LATTICE_TRY(const std::vector<std::int64_t> types, metadata.GetInts(Key("token_type")));
    data.types.reserve(types.size());
    for (const std::int64_t type : types) {
      data.types.push_back(type >= 0 && type <= std::numeric_limits<std::int32_t>::max()
                               ? static_cast<std::int32_t>(type)
                               : -1);  // refused with the other unknown types
    }
  }
  if (metadata.Has(Key("merges"))) {
    LATTICE_TRY(const weights::GgufStrings merges, metadata.GetStrings(Key("merges")));
    data.merges.assign(merges.begin(), merges.end());
  }
  return Ok();
}

Status ReadId(const GgufMetadata& metadata, std::string_view name, std::optional<TokenId>& id) {
  if (!metadata.Has(Key(name))) return Ok();
  LATTICE_TRY(const std::int64_t value, metadata.GetInt(Key(name)));
  if (value < 0) return Ok();  // -1: there is none
  if (value > std::numeric_limits<TokenId>::max()) {
    return Error{ErrorCode::kCorruptData,
                 Key(name) + ": " + std::to_string(value) + " cannot be a token"};
  }
  id = static_cast<TokenId>(value);
  return Ok();
}

Status ReadIds(const GgufMetadata& metadata, VocabularyData& data) {
  LATTICE_TRY_VOID(ReadId(metadata, "bos_token_id", data.bos));
  LATTICE_TRY_VOID(ReadId(metadata, "eos_token_id", data.eos));
  LATTICE_TRY_VOID(ReadId(metadata, "eot_token_id", data.eot));
  LATTICE_TRY_VOID(ReadId(metadata, "eom_token_id", data.eom));
  LATTICE_TRY_VOID(ReadId(metadata, "unknown_token_id", data.unknown));
  LATTICE_TRY_VOID(ReadId(metadata, "seperator_token_id", data.separator));  // as the format has it
  LATTICE_TRY_VOID(ReadId(metadata, "padding_token_id", data.padding));
  return ReadId(metadata, "mask_token_id", data.mask);
}

Status ReadFlag(const GgufMetadata& metadata, const std::string& key, std::optional<bool>& flag) {
  if (!metadata.Has(key)) return Ok();
  LATTICE_TRY(flag, metadata.GetBool(key));
  return Ok();
}

Status ReadFlags(const GgufMetadata& metadata, VocabularyData& data) {
  LATTICE_TRY_VOID(ReadFlag(metadata, Key("add_bos_token"), data.add_bos));
  LATTICE_TRY_VOID(ReadFlag(metadata, Key("add_eos_token"), data.add_eos));
  LATTICE_TRY_VOID(ReadFlag(metadata, Key("add_space_prefix"), data.add_space_prefix));
  LATTICE_TRY_VOID(
      ReadFlag(metadata, Key("remove_extra_whitespaces"), data.remove_extra_whitespaces));
  LATTICE_TRY_VOID(ReadFlag(metadata, "normalizer.lowercase", data.lowercase));
  return ReadFlag(metadata, "normalizer.strip_accents", data.strip_accents);
}

}  // namespace

Result<std::shared_ptr<const tokenizers::Tokenizer>> ReadGgufTokenizer(
    const GgufMetadata& metadata) {
  VocabularyData data;
  LATTICE_TRY(data.model, metadata.GetString(Key("model")));
  LATTICE_TRY(data.pre, metadata.StringOr(Key("pre"), ""));
  LATTICE_TRY_VOID(ReadLists(metadata, data));
  LATTICE_TRY_VOID(ReadIds(metadata, data));
  LATTICE_TRY_VOID(ReadFlags(metadata, data));
  if (metadata.Has(Key("precompiled_charsmap"))) {
    LATTICE_TRY(const auto bytes, metadata.GetBytes(Key("precompiled_charsmap")));
    data.char_map = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  return tokenizers::Tokenizer::FromVocabulary(data);
}

}  // namespace lattice::engine
