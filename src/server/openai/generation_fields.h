#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/generation.h"
#include "engine/generation_defaults.h"
#include "server/openai/field_reader.h"
#include "server/openai/structure_fields.h"

namespace lattice::server {

/// Answers that one request may ask for.
inline constexpr std::size_t kMaxAnswers = 128;

/// What chat and completion requests say about generating.
struct GenerationFields {
  std::optional<float> temperature, top_p, min_p, typical_p;
  std::optional<float> repetition_penalty, presence_penalty, frequency_penalty;
  std::optional<std::size_t> top_k;
  std::optional<std::int64_t> seed;
  std::optional<std::size_t> max_tokens;
  std::size_t min_tokens = 0;  ///< Not with a structure.
  std::vector<std::string> stop;
  std::vector<TokenId> stop_tokens;
  std::vector<decoding::LogitBias> logit_bias;
  std::optional<StructureField> structure;  ///< Absent: any text.
  bool ignore_eos = false;
  std::size_t n = 1;
  bool stream = false;
  bool include_usage = false;
};

/// Names that ReadGenerationFields reads, refuses or knows to be harmless.
std::span<const std::string_view> GenerationFieldNames();

/// Reads them; complaints are in the reader. Fields that would change the answer and cannot be
/// honoured are refused unless their value asks for nothing.
///
/// vocab       ids in logit_bias and stop_token_ids are below it.
/// least_most  the least that max_tokens may be.
GenerationFields ReadGenerationFields(FieldReader& reader, std::size_t vocab,
                                      std::size_t least_most = 1);

/// For the choice-th of n answers. What a request leaves open is as the model's files recommend, or
/// drawn from the model's own distribution; `random_seed` stands for an absent seed.
engine::GenerationOptions OptionsFor(const GenerationFields& fields,
                                     const engine::GenerationDefaults& defaults,
                                     std::uint64_t random_seed, std::size_t choice);

}  // namespace lattice::server
