#include "engine/generation_defaults.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/files.h"
#include "base/json.h"

namespace lattice::engine {
namespace {

constexpr std::size_t kMaxJsonBytes = std::size_t{16} << 20;

Status AddStopId(const JsonView& value, std::vector<TokenId>& ids) {
  LATTICE_TRY(const std::int64_t id, value.Int(0, std::numeric_limits<TokenId>::max()));
  if (std::ranges::find(ids, id) == ids.end()) ids.push_back(static_cast<TokenId>(id));
  return Ok();
}

/// eos_token_id: an id, or a list of them.
Status AddStopIds(const JsonView& config, std::vector<TokenId>& ids) {
  const auto value = config.Find("eos_token_id");
  if (!value) return Ok();
  if (!value->IsArray()) return AddStopId(*value, ids);
  LATTICE_TRY(const std::vector<JsonView> items, value->Array());
  for (const JsonView& item : items) LATTICE_TRY_VOID(AddStopId(item, ids));
  return Ok();
}

Status ReadFloat(const JsonView& config, std::string_view key, std::optional<float>& out) {
  if (const auto value = config.Find(key)) {
    LATTICE_TRY(const double number, value->Number());
    out = static_cast<float>(number);
  }
  return Ok();
}

/// Greedy models say do_sample: false, whatever temperature stands beside it.
Status ReadSampling(const JsonView& config, GenerationDefaults& defaults) {
  LATTICE_TRY_VOID(ReadFloat(config, "repetition_penalty", defaults.repetition_penalty));
  LATTICE_TRY(const bool sample, config.BoolOr("do_sample", false));
  if (!sample) return Ok();
  LATTICE_TRY_VOID(ReadFloat(config, "temperature", defaults.temperature));
  LATTICE_TRY_VOID(ReadFloat(config, "top_p", defaults.top_p));
  LATTICE_TRY_VOID(ReadFloat(config, "min_p", defaults.min_p));
  if (const auto value = config.Find("top_k")) {
    LATTICE_TRY(const std::int64_t k, value->Int(0, std::numeric_limits<std::int32_t>::max()));
    defaults.top_k = static_cast<std::size_t>(k);
  }
  return Ok();
}

/// Calls read with the parsed file, if there is one.
template <typename Read>
Status WithJson(const std::filesystem::path& file, Read read) {
  std::error_code code;
  if (!std::filesystem::exists(file, code)) return Ok();
  LATTICE_TRY(const std::string text, ReadFile(file, kMaxJsonBytes));
  auto json = ParseJson(text);
  if (!json) return std::move(json).error().Within(file.string());
  return read(JsonView(*json, file.string() + ": "));
}

}  // namespace

Result<GenerationDefaults> ReadGenerationDefaults(const std::filesystem::path& folder) {
  GenerationDefaults defaults;
  const auto read_generation = [&](const JsonView& config) -> Status {
    LATTICE_TRY_VOID(AddStopIds(config, defaults.stop_ids));
    return ReadSampling(config, defaults);
  };
  const auto read_config = [&](const JsonView& config) -> Status {
    LATTICE_TRY_VOID(AddStopIds(config, defaults.stop_ids));
    const auto text = config.Find("text_config");
    return text && defaults.stop_ids.empty() ? AddStopIds(*text, defaults.stop_ids) : Ok();
  };
  LATTICE_TRY_VOID(WithJson(folder / "generation_config.json", read_generation));
  if (defaults.stop_ids.empty()) LATTICE_TRY_VOID(WithJson(folder / "config.json", read_config));
  return defaults;
}

Result<GenerationDefaults> ReadGenerationDefaults(const weights::GgufMetadata& metadata) {
  GenerationDefaults defaults;
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                          "tokenizer.ggml.eom_token_id"}) {
    if (!metadata.Has(key)) continue;
    LATTICE_TRY(const std::uint64_t id, metadata.GetUint(key));
    if (id > std::uint64_t{std::numeric_limits<TokenId>::max()}) {
      return Error{ErrorCode::kCorruptData,
                   std::string(key) + ": " + std::to_string(id) + " cannot be a token"};
    }
    const auto stop = static_cast<TokenId>(id);
    if (std::ranges::find(defaults.stop_ids, stop) == defaults.stop_ids.end()) {
      defaults.stop_ids.push_back(stop);
    }
  }
  return defaults;
}

}  // namespace lattice::engine
