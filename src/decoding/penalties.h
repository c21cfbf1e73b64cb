#pragma once

#include <span>
#include <vector>

#include "base/token_id.h"
#include "decoding/candidates.h"
#include "decoding/sampling_options.h"

namespace lattice::decoding {

/// Repetition, presence and frequency penalties for the tokens of a window.
///
/// Source  Keskar et al. 2019, "CTRL", section 4.1, with negative logits multiplied; OpenAI's API
///         for presence and frequency.
class Penalties {
 public:
  explicit Penalties(const SamplingOptions& options)
      : repetition_(options.repetition_penalty),
        presence_(options.presence_penalty),
        frequency_(options.frequency_penalty) {}

  bool is_neutral() const { return repetition_ == 1 && presence_ == 0 && frequency_ == 0; }
  void Apply(std::span<const TokenId> window, Candidates& candidates);

 private:
  float repetition_, presence_, frequency_;
  std::vector<TokenId> sorted_, ids_;
  std::vector<float> counts_;  // of ids_
};

}  // namespace lattice::decoding
