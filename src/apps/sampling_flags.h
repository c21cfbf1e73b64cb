#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "decoding/sampling_options.h"
#include "engine/generation.h"
#include "engine/generation_defaults.h"
#include "lattice/result.h"

namespace lattice::apps {

/// A number of the sampling options, as flags ("--top-p") and chat settings ("top-p") call it.
struct SamplingNumber {
  const char* name;
  const char* what;
  float decoding::SamplingOptions::*field;
};
std::span<const SamplingNumber> SamplingNumbers();

/// The same of something that is counted.
struct SamplingCount {
  const char* name;
  const char* what;
  std::size_t decoding::SamplingOptions::*field;
  std::size_t most;
};
std::span<const SamplingCount> SamplingCounts();

/// Flags of sampling; absent ones leave what the model's files recommend.
struct SamplingFlags {
  std::optional<std::size_t> max_tokens;
  // By row; braces would make them lists of one.
  std::vector<std::optional<float>> numbers = decltype(numbers)(SamplingNumbers().size());
  std::vector<std::optional<std::size_t>> counts = decltype(counts)(SamplingCounts().size());
  std::optional<std::uint64_t> seed;
  std::vector<std::string> logit_bias;  ///< "ID=X"
  std::vector<std::string> order;
  std::vector<std::string> stop;
  bool ignore_eos = false;
};

void DeclareSamplingFlags(CLI::App& arguments, SamplingFlags& flags);

/// The flags over what the model's files recommend. Without a --seed one is drawn, and the options
/// say which.
engine::GenerationOptions MakeGenerationOptions(const SamplingFlags& flags,
                                                const engine::GenerationDefaults& defaults);

}  // namespace lattice::apps
