#include "decoding/gguf_vocabulary.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lattice::decoding {
namespace {

constexpr std::string_view kPrefix = "tokenizer.ggml.";
constexpr std::string_view kWholeJson = "tokenizer.huggingface.json";

/// Reads keys below "tokenizer.ggml."; an absent one leaves its target as it is.
class Reader {
 public:
  explicit Reader(const weights::GgufMetadata& metadata) : metadata_(metadata) {}

  Status Read(std::string_view name, std::string_view& out) const {
    return ReadWith(name, [&](const std::string& key) -> Status {
      LATTICE_TRY(out, metadata_.GetString(key));
      return Ok();
    });
  }
  Status Read(std::string_view name, std::vector<std::string_view>& out) const {
    return ReadWith(name, [&](const std::string& key) -> Status {
      LATTICE_TRY(const weights::GgufStrings strings, metadata_.GetStrings(key));
      out.reserve(strings.size());
      for (const std::string_view text : strings) out.push_back(text);
      return Ok();
    });
  }
  Status Read(std::string_view name, std::vector<float>& out) const {
    return ReadWith(name, [&](const std::string& key) -> Status {
      LATTICE_TRY(out, metadata_.GetFloats(key));
      return Ok();
    });
  }
  Status ReadTypes(std::string_view name, std::vector<std::int32_t>& out) const {
    return ReadWith(name, [&](const std::string& key) -> Status {
      LATTICE_TRY(const std::vector<std::int64_t> types, metadata_.GetInts(key));
      out.reserve(types.size());
      // What does not fit is no type either.
      for (const std::int64_t type : types) out.push_back(Narrow(type));
      return Ok();
    });
  }
  Status Read(std::string_view name, std::optional<TokenId>& out) const {
    return ReadWith(name, [&](const std::string& key) -> Status {
      LATTICE_TRY(const std::int64_t id, metadata_.GetInt(key));
      if (id != -1) out = Narrow(id);  // Some writers say "none" so.
      return Ok();
    });
  }
  Status Read(std::string_view name, std::optional<bool>& out) const {
    return ReadWith(name, [&](const std::string& key) -> Status {
      LATTICE_TRY(out, metadata_.GetBool(key));
      return Ok();
    });
  }
  Status ReadBytes(std::string_view name, std::string_view& out) const {
    return ReadWith(name, [&](const std::string& key) -> Status {
      LATTICE_TRY(const std::span<const std::byte> bytes, metadata_.GetBytes(key));
      out = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
      return Ok();
    });
  }

 private:
  template <typename Take>
  Status ReadWith(std::string_view name, Take take) const {
    const std::string key = std::string(kPrefix) + std::string(name);
    return metadata_.Has(key) ? take(key) : Ok();
  }
  static std::int32_t Narrow(std::int64_t value) {
    constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
    return value >= 0 && value <= kMax ? static_cast<std::int32_t>(value) : -1;
  }

  const weights::GgufMetadata& metadata_;
};

}  // namespace

Result<tokenizers::VocabularyData> ReadGgufVocabulary(const weights::GgufMetadata& metadata) {
  tokenizers::VocabularyData data;
  const Reader reader(metadata);
  LATTICE_TRY(data.model, metadata.GetString(std::string(kPrefix) + "model"));
  LATTICE_TRY_VOID(reader.Read("pre", data.pre));
  LATTICE_TRY_VOID(reader.Read("tokens", data.tokens));
  LATTICE_TRY_VOID(reader.Read("scores", data.scores));
  LATTICE_TRY_VOID(reader.ReadTypes("token_type", data.types));
  LATTICE_TRY_VOID(reader.Read("merges", data.merges));
  LATTICE_TRY_VOID(reader.Read("bos_token_id", data.bos));
  LATTICE_TRY_VOID(reader.Read("eos_token_id", data.eos));
  LATTICE_TRY_VOID(reader.Read("eot_token_id", data.eot));
  LATTICE_TRY_VOID(reader.Read("eom_token_id", data.eom));
  LATTICE_TRY_VOID(reader.Read("unknown_token_id", data.unknown));
  LATTICE_TRY_VOID(reader.Read("seperator_token_id", data.separator));  // Their spelling.
  LATTICE_TRY_VOID(reader.Read("padding_token_id", data.padding));
  LATTICE_TRY_VOID(reader.Read("mask_token_id", data.mask));
  LATTICE_TRY_VOID(reader.Read("add_bos_token", data.add_bos));
  LATTICE_TRY_VOID(reader.Read("add_eos_token", data.add_eos));
  LATTICE_TRY_VOID(reader.Read("add_space_prefix", data.add_space_prefix));
  LATTICE_TRY_VOID(reader.Read("remove_extra_whitespaces", data.remove_extra_whitespaces));
  LATTICE_TRY_VOID(reader.Read("normalizer.lowercase", data.lowercase));
  LATTICE_TRY_VOID(reader.Read("normalizer.strip_accents", data.strip_accents));
  LATTICE_TRY_VOID(reader.ReadBytes("precompiled_charsmap", data.char_map));
  return data;
}

Result<std::shared_ptr<const tokenizers::Tokenizer>> MakeGgufTokenizer(
    const weights::GgufMetadata& metadata) {
  if (metadata.Has(kWholeJson)) {
    LATTICE_TRY(const std::string_view json, metadata.GetString(kWholeJson));
    return tokenizers::Tokenizer::FromJson(json);
  }
  LATTICE_TRY(const tokenizers::VocabularyData data, ReadGgufVocabulary(metadata));
  return tokenizers::Tokenizer::FromVocabulary(data);
}

}  // namespace lattice::decoding
