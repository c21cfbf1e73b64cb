#include "server/openai/generation_fields.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <charconv>
#include <limits>
#include <utility>

#include "decoding/stop_matcher.h"

namespace lattice::server {
namespace {

constexpr std::size_t kMaxStops = 16;
constexpr std::size_t kMaxStopTokens = 64;
constexpr std::size_t kMaxBiases = 4096;
constexpr std::int64_t kMaxTokens = std::numeric_limits<std::int32_t>::max();

constexpr std::string_view kNames[] = {
    "model", "temperature", "top_p", "top_k", "min_p", "typical_p", "repetition_penalty",
    "repeat_penalty", "presence_penalty", "frequency_penalty", "seed", "max_tokens", "stop",
    "min_tokens", "logit_bias", "ignore_eos", "stop_token_ids", "n", "stream", "stream_options",
    "logprobs",
    // Without influence on the answer.
    "user", "metadata", "store", "service_tier", "prompt_cache_key", "prompt_cache_retention",
    "safety_identifier", "verbosity", "cache_prompt", "id_slot", "keep_alive", "prediction",
    "return_progress", "timings_per_token"};

/// Fields of other servers and of later versions of this one: what they ask for is not there.
constexpr std::string_view kRefused[] = {"structural_tag",
                                         "logits_processors",
                                         "use_beam_search",
                                         "length_penalty",
                                         "lora",
                                         "samplers",
                                         "mirostat",
                                         "dry_multiplier",
                                         "xtc_probability",
                                         "top_n_sigma",
                                         "dynatemp_range",
                                         "n_discard",
                                         "n_keep",
                                         "options",
                                         "prompt_logprobs",
                                         "priority",
                                         "best_of"};

/// Whether a value asks for nothing.
bool IsNeutral(std::string_view key, const boost::json::value& value) {
  if (const bool* flag = value.if_bool()) return !*flag;
  if (const auto* text = value.if_string()) return text->empty();
  if (const auto* array = value.if_array()) return array->empty();
  if (value.is_number()) return value.to_number<double>() == (key == "best_of" ? 1 : 0);
  const auto* object = value.if_object();
  return object == nullptr || object->empty();
}

void RefuseUnsupported(FieldReader& reader) {
  for (const std::string_view key : kRefused) {
    const boost::json::value* value = reader.Find(key);
    if (value == nullptr || IsNeutral(key, *value)) continue;
    reader.Complain(key, "asks for what this server does not have", "unsupported_parameter");
  }
}

std::optional<std::size_t> Size(std::optional<std::int64_t> number) {
  if (!number) return std::nullopt;
  return static_cast<std::size_t>(*number);
}

void ReadStops(FieldReader& reader, GenerationFields& fields) {
  fields.stop = reader.Strings("stop", kMaxStops);
  for (const std::string& stop : fields.stop) {
    if (stop.empty() || stop.size() > decoding::StopMatcher::kMaxStopBytes) {
      reader.Complain("stop", "holds a text that is empty or longer than " +
                                  std::to_string(decoding::StopMatcher::kMaxStopBytes) + " bytes");
    }
  }
}

void ReadBiases(FieldReader& reader, std::size_t vocab, GenerationFields& fields) {
  const boost::json::object* biases = reader.Object("logit_bias");
  if (biases == nullptr) return;
  if (biases->size() > kMaxBiases) {
    return reader.Complain("logit_bias",
                           "has more than " + std::to_string(kMaxBiases) + " entries");
  }
  for (const auto& [key, value] : *biases) {
    std::uint32_t id = 0;
    const char* const end = key.data() + key.size();
    const auto [at, code] = std::from_chars(key.data(), end, id);
    const bool known = code == std::errc() && at == end && id < vocab;
    const double bias = value.is_number() ? value.to_number<double>() : 1e9;
    if (!known || !(bias >= -100 && bias <= 100)) {
      return reader.Complain("logit_bias", "maps token ids below " + std::to_string(vocab) +
                                               " to numbers from -100 to 100");
    }
    fields.logit_bias.push_back({static_cast<TokenId>(id), static_cast<float>(bias)});
  }
}

void ReadStopTokens(FieldReader& reader, std::size_t vocab, GenerationFields& fields) {
  const boost::json::value* value = reader.Find("stop_token_ids");
  if (value == nullptr) return;
  const auto* ids = value->if_array();
  const bool fits = ids != nullptr && ids->size() <= kMaxStopTokens &&
                    std::ranges::all_of(*ids, [&](const boost::json::value& item) {
                      const auto id = ExactInt(item);
                      return id && *id >= 0 && static_cast<std::uint64_t>(*id) < vocab;
                    });
  if (!fits) {
    return reader.Complain("stop_token_ids", "must be an array of at most " +
                                                 std::to_string(kMaxStopTokens) + " ids below " +
                                                 std::to_string(vocab));
  }
  for (const boost::json::value& id : *ids) {
    fields.stop_tokens.push_back(static_cast<TokenId>(*ExactInt(id)));
  }
}

void ReadStreaming(FieldReader& reader, GenerationFields& fields) {
  fields.stream = reader.Bool("stream").value_or(false);
  const boost::json::object* options = reader.Object("stream_options");
  if (options == nullptr) return;
  if (!fields.stream) return reader.Complain("stream_options", "goes with \"stream\": true only");
  FieldReader inner(*options);
  fields.include_usage = inner.Bool("include_usage").value_or(false);
  (void)inner.Bool("include_obfuscation");  // Without influence on the text.
  static constexpr std::string_view kKnown[] = {"include_usage", "include_obfuscation"};
  inner.RefuseOthers({kKnown});
  if (!inner.ok()) {
    reader.Complain("stream_options." + inner.error().param, "is not what it should be",
                    inner.error().code);
  }
}

template <typename T, typename U>
void Set(const std::optional<T>& asked, const std::optional<U>& recommended, T& value) {
  if (recommended) value = *recommended;
  if (asked) value = *asked;
}

}  // namespace

std::span<const std::string_view> GenerationFieldNames() {
  static constexpr auto kAll = [] {
    std::array<std::string_view, std::size(kNames) + std::size(kRefused)> all;
    std::ranges::copy(kRefused, std::ranges::copy(kNames, all.begin()).out);
    return all;
  }();
  return kAll;
}

GenerationFields ReadGenerationFields(FieldReader& reader, std::size_t vocab,
                                      std::size_t least_most) {
  GenerationFields fields;
  fields.temperature = reader.Number("temperature", 0, 2);
  fields.top_p = reader.Number("top_p", 0, 1);
  fields.min_p = reader.Number("min_p", 0, 1);
  fields.typical_p = reader.Number("typical_p", 0, 1);
  fields.repetition_penalty = reader.Number("repetition_penalty", 0.01, 100);
  if (!fields.repetition_penalty) {
    fields.repetition_penalty = reader.Number("repeat_penalty", 0.01, 100);
  }
  fields.presence_penalty = reader.Number("presence_penalty", -2, 2);
  fields.frequency_penalty = reader.Number("frequency_penalty", -2, 2);
  const auto top_k = reader.Int("top_k", -1, kMaxTokens);  // -1 and 0: all tokens
  if (top_k) fields.top_k = static_cast<std::size_t>(std::max<std::int64_t>(*top_k, 0));
  fields.seed = reader.Int("seed", std::numeric_limits<std::int64_t>::min(),
                           std::numeric_limits<std::int64_t>::max());
  fields.max_tokens =
      Size(reader.Int("max_tokens", static_cast<std::int64_t>(least_most), kMaxTokens));
  fields.min_tokens = Size(reader.Int("min_tokens", 0, kMaxTokens)).value_or(0);
  fields.ignore_eos = reader.Bool("ignore_eos").value_or(false);
  fields.n = Size(reader.Int("n", 1, kMaxAnswers)).value_or(1);
  ReadStops(reader, fields);
  ReadStopTokens(reader, vocab, fields);
  ReadBiases(reader, vocab, fields);
  ReadStreaming(reader, fields);
  fields.structure = ReadStructure(reader);
  if (fields.min_tokens > 0 && fields.structure) {
    reader.Complain("min_tokens", "cannot go with an answer that is held to a format");
  }
  RefuseUnsupported(reader);
  return fields;
}

engine::GenerationOptions OptionsFor(const GenerationFields& fields,
                                     const engine::GenerationDefaults& defaults,
                                     std::uint64_t random_seed, std::size_t choice) {
  constexpr float kLeastP = 1e-6f;  // "The fewest tokens whose probabilities sum to 0" is the best.
  engine::GenerationOptions options;
  decoding::SamplingOptions& sampling = options.sampling;
  const std::optional<float> none;
  Set(fields.temperature, defaults.temperature, sampling.temperature);
  Set(fields.top_k, defaults.top_k, sampling.top_k);
  Set(fields.top_p, defaults.top_p, sampling.top_p);
  Set(fields.min_p, defaults.min_p, sampling.min_p);
  Set(fields.repetition_penalty, defaults.repetition_penalty, sampling.repetition_penalty);
  Set(fields.typical_p, none, sampling.typical_p);
  Set(fields.presence_penalty, none, sampling.presence_penalty);
  Set(fields.frequency_penalty, none, sampling.frequency_penalty);
  sampling.top_p = std::max(sampling.top_p, kLeastP);
  sampling.typical_p = std::max(sampling.typical_p, kLeastP);
  sampling.logit_bias = fields.logit_bias;
  sampling.seed = (fields.seed ? static_cast<std::uint64_t>(*fields.seed) : random_seed) + choice;
  options.max_tokens = fields.max_tokens.value_or(0);
  options.min_tokens = fields.min_tokens;
  options.stop_strings = fields.stop;
  options.stop_tokens = fields.stop_tokens;
  options.ignore_stop_tokens = fields.ignore_eos;
  return options;
}

}  // namespace lattice::server
