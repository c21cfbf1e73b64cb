#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/token_id.h"
#include "decoding/candidates.h"
#include "lattice/result.h"

namespace lattice::decoding {

/// What the model said about one place of a text: natural logarithms of probabilities under the
/// softmax of the raw logits, before temperature, penalties, bias, mask and filters.
struct LogProbabilities {
  struct Entry {
    TokenId id = 0;
    float log_probability = 0;
  };
  Entry chosen;
  std::vector<Entry> top;  ///< The likeliest tokens in order, equals by id; chosen may be one.
};

/// Computes them, linear in the vocabulary.
class LogProbabilityReader {
 public:
  /// logits  [vocab] f32, finite. Errors  kInvalidArgument when one is not, or `chosen` is outside.
  /// n_top   how many alternatives; at most the vocabulary.
  Status Read(std::span<const float> logits, TokenId chosen, std::size_t n_top,
              LogProbabilities& out);

 private:
  std::vector<Candidate> best_;
};

}  // namespace lattice::decoding
