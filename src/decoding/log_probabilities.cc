#include "decoding/log_probabilities.h"

#include <cmath>

#include "tokenizers/tokenizer.h"

namespace lattice::decoding {

Status LogProbabilityReader::Read(std::span<const float> logits, TokenId chosen, std::size_t n_top,
                                  LogProbabilities& out) {
  LATTICE_TRY_VOID(tokenizers::CheckId(chosen, logits.size()));
  LATTICE_TRY_VOID(CheckFinite(logits));
  const float max = MaxOf(logits);
  const double log_sum = std::log(SumExp(logits, max));
  const auto entry = [&](TokenId id, float logit) {
    const double above = static_cast<double>(logit) - static_cast<double>(max);
    return LogProbabilities::Entry{id, static_cast<float>(above - log_sum)};
  };
  out.chosen = entry(chosen, logits[static_cast<std::size_t>(chosen)]);
  SelectTop(logits, n_top, best_);
  out.top.clear();
  for (const Candidate& best : best_) out.top.push_back(entry(best.id, best.logit));
  return Ok();
}

}  // namespace lattice::decoding
