#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "decoding/log_probabilities.h"
#include "server/openai/answer_shape.h"
#include "tokenizers/tokenizer.h"

namespace lattice::server {

/// {"prompt_tokens", "completion_tokens", "total_tokens", details}.
boost::json::object UsageJson(const TokenTotals& totals);

/// "stop" or "length".
const char* FinishReasonText(engine::FinishReason reason);

/// The text that a token adds, with U+FFFD for the halves of characters.
std::string TokenString(const tokenizers::Tokenizer& tokenizer, TokenId id);

/// A logarithm that JSON can say: never below -9999.
double FiniteLogProbability(float value);

/// {"token", "logprob", "bytes", "top_logprobs": [...]}.
boost::json::object LogProbabilityJson(const decoding::LogProbabilities& place,
                                       const tokenizers::Tokenizer& tokenizer);

/// The members that every object of an answer begins with, as text: {"id":...,...,"model":...
std::string HeadJson(const AnswerHead& head, std::string_view object);

/// A JSON string.
std::string Quoted(std::string_view text);

}  // namespace lattice::server
