#include "apps/sampling_flags.h"

#include <iterator>
#include <limits>
#include <random>
#include <string_view>

#include "apps/number_flags.h"

namespace lattice::apps {
namespace {

using Options = decoding::SamplingOptions;
using decoding::SamplingStep;

// What people expect of a chat when the model's files recommend nothing.
constexpr float kTemperature = 0.7f, kTopP = 0.95f, kMinP = 0.05f;

constexpr SamplingNumber kNumbers[] = {
    {"temperature", "0: always the likeliest token", &Options::temperature},
    {"top-p", "Draw among the likeliest that sum to X", &Options::top_p},
    {"min-p", "Draw among tokens at least X times as likely as the best", &Options::min_p},
    {"typical-p", "Locally typical sampling; 1: off", &Options::typical_p},
    {"top-n-sigma", "Draw among logits within X deviations of the best; 0: off",
     &Options::top_n_sigma},
    {"repetition-penalty", "Divides the logits of what was said; 1: off",
     &Options::repetition_penalty},
    {"presence-penalty", "Taken off the logits of what was said; 0: off",
     &Options::presence_penalty},
    {"frequency-penalty", "The same for each time it was said; 0: off",
     &Options::frequency_penalty},
    {"dry-multiplier", "Penalty of repeated passages; 0: off", &Options::dry_multiplier},
    {"dry-base", "How much more for each token of a longer passage", &Options::dry_base},
    {"xtc-probability", "How often the likeliest tokens are left out; 0: off",
     &Options::xtc_probability},
    {"xtc-threshold", "How likely those are at least", &Options::xtc_threshold},
    {"mirostat", "Mirostat 2 with this surprise; 0: off", &Options::mirostat_tau},
    {"mirostat-eta", "How fast Mirostat learns", &Options::mirostat_eta}};

constexpr SamplingCount kCounts[] = {
    {"top-k", "Draw among the N likeliest tokens; 0: all", &Options::top_k, kMostCounted},
    {"penalty-window", "Tokens that the penalties look back over", &Options::penalty_window,
     decoding::kMaxSamplingWindow},
    {"dry-allowed-length", "Repeated passages of N tokens are not penalised",
     &Options::dry_allowed_length, kMostCounted},
    {"dry-window", "Tokens that DRY looks back over", &Options::dry_window,
     decoding::kMaxSamplingWindow}};

bool WantsMirostat(const SamplingFlags& flags) {
  for (std::size_t i = 0; i < std::size(kNumbers); ++i) {
    if (kNumbers[i].field == &Options::mirostat_tau) return flags.numbers[i].value_or(0) > 0;
  }
  return false;
}

std::uint64_t RandomSeed() {
  std::random_device device;
  return (std::uint64_t{device()} << 21) ^ device();  // 53 bits: survives a trip through JSON
}

std::vector<std::string> StepNames() {
  std::vector<std::string> names;
  for (const SamplingStep step : Options().order) names.emplace_back(SamplingStepName(step));
  return names;
}

SamplingStep StepNamed(std::string_view name) {
  for (const SamplingStep step : Options().order) {
    if (SamplingStepName(step) == name) return step;
  }
  return {};  // not reached: the flag's check lets no other name through
}

std::size_t CutOf(std::string_view bias) { return bias.find('='); }

std::string CheckBias(const std::string& bias) {
  const std::size_t cut = CutOf(bias);
  if (cut == bias.npos) return "'" + bias + "' is not ID=X";
  std::string id = bias.substr(0, cut), value = bias.substr(cut + 1);
  const std::string wrong = IsCount(CountRange())(id);
  return wrong.empty() ? IsDecimal({-decoding::kMaxLogitBias, decoding::kMaxLogitBias})(value)
                       : wrong;
}

decoding::LogitBias ReadBias(const std::string& bias) {
  const std::size_t cut = CutOf(bias);
  return {.id = ReadNumber<TokenId>(bias.substr(0, cut)).value_or(0),
          .bias = ReadNumber<float>(bias.substr(cut + 1)).value_or(0)};
}

}  // namespace

std::span<const SamplingNumber> SamplingNumbers() { return kNumbers; }
std::span<const SamplingCount> SamplingCounts() { return kCounts; }

void DeclareSamplingFlags(CLI::App& arguments, SamplingFlags& flags) {
  AddCount(arguments, "-n,--max-tokens", flags.max_tokens, "Longest answer", {1});
  for (std::size_t i = 0; i < std::size(kNumbers); ++i) {
    const decoding::SamplingRange& range = decoding::RangeOf(kNumbers[i].field);
    AddDecimal(arguments, std::string("--") + kNumbers[i].name, flags.numbers[i], kNumbers[i].what,
               {range.least, range.most, range.above_least});
  }
  for (std::size_t i = 0; i < std::size(kCounts); ++i) {
    AddCount(arguments, std::string("--") + kCounts[i].name, flags.counts[i], kCounts[i].what,
             {0, kCounts[i].most});
  }
  arguments
      .add_option("--logit-bias", flags.logit_bias,
                  "Add X to the logits of token ID; may be repeated")
      ->type_name("ID=X")
      ->allow_extra_args(false)
      ->check(CheckBias);
  arguments.add_option("--sampling-order", flags.order, "The steps in order; others do nothing")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("STEP,...")
      ->check(CLI::IsMember(StepNames()));
  AddCount(arguments, "--seed", flags.seed, "The same seed gives the same text (random)",
           {0, std::numeric_limits<std::uint64_t>::max()});
  arguments.add_option("--stop", flags.stop, "End the answer where this text would begin")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  arguments.add_flag("--ignore-eos", flags.ignore_eos, "Go on past the end of the answer");
}

engine::GenerationOptions MakeGenerationOptions(const SamplingFlags& flags,
                                                const engine::GenerationDefaults& defaults) {
  engine::GenerationOptions options;
  options.max_tokens = flags.max_tokens.value_or(0);
  Options& sampling = options.sampling;
  const bool silent =
      !defaults.temperature && !defaults.top_p && !defaults.top_k && !defaults.min_p;
  const bool mirostat = WantsMirostat(flags);  // stands for all truncating steps
  if (silent && !mirostat) {
    sampling.temperature = kTemperature;
    sampling.top_p = kTopP;
    sampling.min_p = kMinP;
  }
  sampling.temperature = defaults.temperature.value_or(sampling.temperature);
  sampling.repetition_penalty = defaults.repetition_penalty.value_or(sampling.repetition_penalty);
  if (!mirostat) {
    sampling.top_k = defaults.top_k.value_or(sampling.top_k);
    sampling.top_p = defaults.top_p.value_or(sampling.top_p);
    sampling.min_p = defaults.min_p.value_or(sampling.min_p);
  }
  for (std::size_t i = 0; i < std::size(kNumbers); ++i) {
    if (flags.numbers[i]) sampling.*kNumbers[i].field = *flags.numbers[i];
  }
  for (std::size_t i = 0; i < std::size(kCounts); ++i) {
    if (flags.counts[i]) sampling.*kCounts[i].field = *flags.counts[i];
  }
  for (const std::string& bias : flags.logit_bias) sampling.logit_bias.push_back(ReadBias(bias));
  if (!flags.order.empty()) sampling.order.clear();
  for (const std::string& step : flags.order) sampling.order.push_back(StepNamed(step));
  sampling.seed = flags.seed ? *flags.seed : RandomSeed();
  options.stop_strings = flags.stop;
  options.ignore_stop_tokens = flags.ignore_eos;
  return options;
}

}  // namespace lattice::apps
