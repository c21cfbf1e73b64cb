#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/generation_defaults.h"
#include "engine/generator.h"

namespace lattice::apps {

/// Flags of every command that runs a generator.
struct TextModelFlags {
  std::string model;
  std::string precision = "auto";
  std::string kv_type = "f16";
  std::size_t context = 0;  ///< Tokens; 0: what the model allows and the memory holds.
  std::size_t threads = 0;
  std::string weights;       ///< A block format; empty: as they are stored.
  std::string weight_cache;  ///< "auto" or "off"; empty: as the environment says.
};

/// Adds --model, --precision, --kv-type, --context, --threads, --weights and
/// --weight-cache.
void DeclareTextModelFlags(CLI::App& arguments, TextModelFlags& flags);

/// Adds --weights alone.
void DeclareWeightType(CLI::App& arguments, std::string& type);

/// Flags of sampling; absent ones leave what the model's files recommend.
struct SamplingFlags {
  std::optional<std::size_t> max_tokens;
  std::optional<float> temperature, top_p, min_p, typical_p, top_n_sigma;
  std::optional<float> repetition_penalty, presence_penalty, frequency_penalty;
  std::optional<float> dry_multiplier, xtc_probability, mirostat_tau;
  std::optional<std::size_t> top_k;
  std::optional<std::uint64_t> seed;
  std::vector<std::string> stop;
  bool ignore_eos = false;
};

void DeclareSamplingFlags(CLI::App& arguments, SamplingFlags& flags);

/// The flags over what the model's files recommend. Without a --seed one is drawn, and the options
/// say which.
engine::GenerationOptions MakeGenerationOptions(const SamplingFlags& flags,
                                                const engine::GenerationDefaults& defaults);

}  // namespace lattice::apps
