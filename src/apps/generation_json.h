#pragma once

#include <boost/json/object.hpp>

#include "engine/generator.h"
#include "tokenizers/tokenizer.h"

namespace lattice::apps {

/// {"prompt_tokens", "cached_tokens", "completion_tokens", "total_tokens", speeds and times}.
boost::json::object UsageJson(const engine::GenerationUsage& usage);

/// {"token", "id", "logprob", "top": [the same]}.
boost::json::object LogProbabilitiesJson(const decoding::LogProbabilities& place,
                                         const tokenizers::Tokenizer& tokenizer);

/// A double that JSON prints with as few digits as a person reads: rounded to 6.
double Rounded(double value);

}  // namespace lattice::apps
