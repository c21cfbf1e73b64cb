#include "decoding/sampling_options.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <utility>

#include "lattice/check.h"

namespace lattice::decoding {
namespace {

constexpr std::size_t kMaxBreakers = 256, kMaxBreakerBytes = 64;

// Shortest spelling of a bound or a value for people: 0.95, not 0.949999988.
std::string Show(float value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", static_cast<double>(value));
  return text.data();
}

Error Invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

constexpr SamplingRange kRanges[] = {
    {"temperature", &SamplingOptions::temperature, 0, 100},
    {"top_p", &SamplingOptions::top_p, 0, 1, /*above_least=*/true},
    {"min_p", &SamplingOptions::min_p, 0, 1},
    {"typical_p", &SamplingOptions::typical_p, 0, 1, /*above_least=*/true},
    {"top_n_sigma", &SamplingOptions::top_n_sigma, 0, 100},
    {"repetition_penalty", &SamplingOptions::repetition_penalty, 0.01f, 100},
    {"presence_penalty", &SamplingOptions::presence_penalty, -100, 100},
    {"frequency_penalty", &SamplingOptions::frequency_penalty, -100, 100},
    {"dry_multiplier", &SamplingOptions::dry_multiplier, 0, 100},
    {"dry_base", &SamplingOptions::dry_base, 1, 10},
    {"xtc_probability", &SamplingOptions::xtc_probability, 0, 1},
    {"xtc_threshold", &SamplingOptions::xtc_threshold, 0, 1},
    {"mirostat_tau", &SamplingOptions::mirostat_tau, 0, 100},
    {"mirostat_eta", &SamplingOptions::mirostat_eta, 0, 1, /*above_least=*/true}};

Status Check(const SamplingRange& range, float value) {
  const bool inside = (range.above_least ? value > range.least : value >= range.least) &&
                      value <= range.most;  // false for NaN
  if (inside) return Ok();
  return Invalid(std::string(range.name) + ": " + Show(value) + " is not " +
                 (range.above_least ? "above " : "in ") + Show(range.least) + " to " +
                 Show(range.most));
}

Status CheckWindow(std::string_view name, std::size_t value) {
  if (value <= kMaxSamplingWindow) return Ok();
  return Invalid(std::string(name) + ": " + std::to_string(value) + " is not in 0 to " +
                 std::to_string(kMaxSamplingWindow));
}

Status CheckId(std::string_view name, TokenId id, std::size_t vocab_size) {
  if (id >= 0 && static_cast<std::size_t>(id) < vocab_size) return Ok();
  return Invalid(std::string(name) + ": token id " + std::to_string(id) +
                 " is outside the vocabulary of " + std::to_string(vocab_size));
}

Status CheckOrder(const std::vector<SamplingStep>& order) {
  for (auto step = order.begin(); step != order.end(); ++step) {
    if (*step > SamplingStep::kTemperature) return Invalid("order: unknown step");
    if (std::find(order.begin(), step, *step) != step) {
      return Invalid("order: '" + std::string(SamplingStepName(*step)) + "' stands twice");
    }
  }
  return Ok();
}

Status CheckBreakers(const std::vector<std::string>& breakers) {
  if (breakers.size() > kMaxBreakers) {
    return Invalid("dry_sequence_breakers: " + std::to_string(breakers.size()) +
                   " strings; the most is " + std::to_string(kMaxBreakers));
  }
  for (const std::string& breaker : breakers) {
    if (breaker.empty() || breaker.size() > kMaxBreakerBytes) {
      return Invalid("dry_sequence_breakers: a string of " + std::to_string(breaker.size()) +
                     " bytes; 1 to " + std::to_string(kMaxBreakerBytes) + " are allowed");
    }
  }
  return Ok();
}

Status CheckMirostat(const SamplingOptions& options) {
  if (options.mirostat_tau == 0.0f) return Ok();
  const std::pair<std::string_view, bool> others[] = {
      {"top_k", options.top_k != 0},
      {"top_p", options.top_p != 1.0f},
      {"min_p", options.min_p != 0.0f},
      {"typical_p", options.typical_p != 1.0f},
      {"top_n_sigma", options.top_n_sigma != 0.0f},
      {"xtc_probability", options.xtc_probability != 0.0f}};
  for (const auto& [name, is_on] : others) {
    if (is_on) {
      return Invalid("mirostat_tau: mirostat takes the place of " + std::string(name) +
                     ", which must be off");
    }
  }
  return Ok();
}

}  // namespace

std::string_view SamplingStepName(SamplingStep step) {
  constexpr std::string_view kNames[] = {"penalties", "dry",       "top_n_sigma",
                                         "top_k",     "typical_p", "top_p",
                                         "min_p",     "xtc",       "temperature"};
  return kNames[static_cast<std::size_t>(step)];
}

const SamplingRange& RangeOf(float SamplingOptions::*field) {
  const auto range = std::ranges::find(kRanges, field, &SamplingRange::field);
  LATTICE_CHECK(range != std::end(kRanges));
  return *range;
}

Status CheckSamplingOptions(const SamplingOptions& options, std::size_t vocab_size) {
  for (const SamplingRange& range : kRanges) LATTICE_TRY_VOID(Check(range, options.*range.field));
  LATTICE_TRY_VOID(CheckWindow("penalty_window", options.penalty_window));
  LATTICE_TRY_VOID(CheckWindow("dry_window", options.dry_window));
  LATTICE_TRY_VOID(CheckBreakers(options.dry_sequence_breakers));
  LATTICE_TRY_VOID(CheckMirostat(options));
  for (const LogitBias& bias : options.logit_bias) {
    LATTICE_TRY_VOID(CheckId("logit_bias", bias.id, vocab_size));
    LATTICE_TRY_VOID(Check({"logit_bias", nullptr, -kMaxLogitBias, kMaxLogitBias}, bias.bias));
  }
  for (const TokenId id : options.banned) LATTICE_TRY_VOID(CheckId("banned", id, vocab_size));
  return CheckOrder(options.order);
}

}  // namespace lattice::decoding
