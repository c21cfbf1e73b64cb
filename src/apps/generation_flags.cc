#include "apps/generation_flags.h"

#include <random>

#include "apps/weight_types.h"

namespace lattice::apps {
namespace {

// What people expect of a chat when the model's files recommend nothing.
constexpr float kTemperature = 0.7f, kTopP = 0.95f, kMinP = 0.05f;

constexpr float kMaxTemperature = 100.0f;

std::uint64_t RandomSeed() {
  std::random_device device;
  return (std::uint64_t{device()} << 21) ^ device();  // 53 bits: survives a trip through JSON
}

template <typename Value>
void Set(const std::optional<Value>& flag, const std::optional<Value>& recommended, Value& out) {
  if (flag) {
    out = *flag;
  } else if (recommended) {
    out = *recommended;
  }
}

template <typename Value>
void Set(const std::optional<Value>& flag, Value& out) {
  if (flag) out = *flag;
}

}  // namespace

void DeclareWeightType(CLI::App& arguments, std::string& type) {
  arguments
      .add_option("--weights", type,
                  "Quantise float weights to this while loading (as they are stored)")
      ->type_name("TYPE")
      ->check(CLI::IsMember(TypeTexts(BlockWeightTypes())));
}

void DeclareTextModelFlags(CLI::App& arguments, TextModelFlags& flags) {
  arguments
      .add_option("-m,--model", flags.model,
                  "Folder, .gguf file, known name or OWNER/NAME (smollm2-135m-instruct)")
      ->type_name("MODEL");
  arguments
      .add_option("--precision", flags.precision,
                  "Arithmetic: f32 (exact), bf16, int8; auto: what the stored weights allow")
      ->check(CLI::IsMember({"auto", "f32", "bf16", "int8"}))
      ->capture_default_str();
  arguments.add_option("--kv-type", flags.kv_type, "How attention keeps keys and values")
      ->check(CLI::IsMember({"f32", "f16", "q8"}))
      ->capture_default_str();
  arguments
      .add_option("-c,--context", flags.context,
                  "Tokens of the context (what the model reads and the memory holds)")
      ->type_name("N");
  arguments.add_option("-t,--threads", flags.threads, "Worker threads (all processors)")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1024}));
  DeclareWeightType(arguments, flags.weights);
  arguments
      .add_option("--weight-cache", flags.weight_cache,
                  "Keep packed weights for the next start: auto (where there is room), off")
      ->check(CLI::IsMember({"auto", "off"}));
}

void DeclareSamplingFlags(CLI::App& arguments, SamplingFlags& flags) {
  const auto probability = CLI::Range(0.0f, 1.0f);
  arguments.add_option("-n,--max-tokens", flags.max_tokens, "Longest answer")->type_name("N");
  arguments.add_option("--temperature", flags.temperature, "0: always the likeliest token")
      ->check(CLI::Range(0.0f, kMaxTemperature));
  arguments.add_option("--top-k", flags.top_k, "Draw among the K likeliest tokens; 0: all");
  arguments.add_option("--top-p", flags.top_p, "Draw among the likeliest that sum to P")
      ->check(probability);
  arguments
      .add_option("--min-p", flags.min_p,
                  "Draw among tokens at least P times as likely as the best")
      ->check(probability);
  arguments.add_option("--typical-p", flags.typical_p, "Locally typical sampling; 1: off")
      ->check(probability);
  arguments.add_option("--top-n-sigma", flags.top_n_sigma,
                       "Draw among logits within N deviations of the best; 0: off");
  arguments.add_option("--repetition-penalty", flags.repetition_penalty,
                       "Divides the logits of what was said; 1: off");
  arguments.add_option("--presence-penalty", flags.presence_penalty,
                       "Taken off the logits of what was said; 0: off");
  arguments.add_option("--frequency-penalty", flags.frequency_penalty,
                       "The same for each time it was said; 0: off");
  arguments.add_option("--dry-multiplier", flags.dry_multiplier,
                       "Penalty of repeated passages; 0: off");
  arguments
      .add_option("--xtc-probability", flags.xtc_probability,
                  "How often the likeliest tokens are left out; 0: off")
      ->check(probability);
  arguments.add_option("--mirostat", flags.mirostat_tau, "Mirostat 2 with this surprise; 0: off");
  arguments.add_option("--seed", flags.seed, "The same seed gives the same text (random)");
  arguments.add_option("--stop", flags.stop, "End the answer where this text would begin")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  arguments.add_flag("--ignore-eos", flags.ignore_eos, "Go on past the end of the answer");
}

engine::GenerationOptions MakeGenerationOptions(const SamplingFlags& flags,
                                                const engine::GenerationDefaults& defaults) {
  engine::GenerationOptions options;
  options.max_tokens = flags.max_tokens.value_or(0);
  decoding::SamplingOptions& sampling = options.sampling;
  const bool silent =
      !defaults.temperature && !defaults.top_p && !defaults.top_k && !defaults.min_p;
  const bool mirostat = flags.mirostat_tau.value_or(0) > 0;  // stands for all truncating steps
  if (silent && !mirostat) {
    sampling.temperature = kTemperature;
    sampling.top_p = kTopP;
    sampling.min_p = kMinP;
  }
  Set(flags.temperature, defaults.temperature, sampling.temperature);
  Set(flags.top_k, mirostat ? std::nullopt : defaults.top_k, sampling.top_k);
  Set(flags.top_p, mirostat ? std::nullopt : defaults.top_p, sampling.top_p);
  Set(flags.min_p, mirostat ? std::nullopt : defaults.min_p, sampling.min_p);
  Set(flags.repetition_penalty, defaults.repetition_penalty, sampling.repetition_penalty);
  Set(flags.typical_p, sampling.typical_p);
  Set(flags.top_n_sigma, sampling.top_n_sigma);
  Set(flags.presence_penalty, sampling.presence_penalty);
  Set(flags.frequency_penalty, sampling.frequency_penalty);
  Set(flags.dry_multiplier, sampling.dry_multiplier);
  Set(flags.xtc_probability, sampling.xtc_probability);
  Set(flags.mirostat_tau, sampling.mirostat_tau);
  sampling.seed = flags.seed ? *flags.seed : RandomSeed();
  options.stop_strings = flags.stop;
  options.ignore_stop_tokens = flags.ignore_eos;
  return options;
}

}  // namespace lattice::apps
