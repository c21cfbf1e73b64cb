#include "server/openai/answer_json.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <utility>

#include "base/utf8.h"

namespace lattice::server {
namespace {

boost::json::object EntryJson(const decoding::LogProbabilities::Entry& entry,
                              const tokenizers::Tokenizer& tokenizer) {
  const std::string bytes = tokenizer.TokenBytes(entry.id).value_or("");
  boost::json::array numbers;
  for (const char c : bytes) numbers.push_back(static_cast<unsigned char>(c));
  return {{"token", ToValidUtf8(bytes)},
          {"logprob", FiniteLogProbability(entry.log_probability)},
          {"bytes", std::move(numbers)}};
}

}  // namespace

boost::json::object UsageJson(const TokenTotals& totals) {
  return {{"prompt_tokens", totals.n_prompt},
          {"completion_tokens", totals.n_generated},
          {"total_tokens", totals.n_prompt + totals.n_generated},
          {"prompt_tokens_details", {{"cached_tokens", totals.n_cached}}},
          {"completion_tokens_details", {{"reasoning_tokens", totals.n_reasoning}}}};
}

const char* FinishReasonText(engine::FinishReason reason) {
  return reason == engine::FinishReason::kStop ? "stop" : "length";
}

std::string TokenString(const tokenizers::Tokenizer& tokenizer, TokenId id) {
  return ToValidUtf8(tokenizer.TokenBytes(id).value_or(""));
}

double FiniteLogProbability(float value) {
  return std::isfinite(value) ? std::max<double>(value, -9999) : -9999;
}

boost::json::object LogProbabilityJson(const decoding::LogProbabilities& place,
                                       const tokenizers::Tokenizer& tokenizer) {
  boost::json::object json = EntryJson(place.chosen, tokenizer);
  boost::json::array top;
  for (const auto& entry : place.top) top.push_back(EntryJson(entry, tokenizer));
  json["top_logprobs"] = std::move(top);
  return json;
}

std::string HeadJson(const AnswerHead& head, std::string_view object) {
  boost::json::object json = {{"id", head.id},
                              {"object", object},
                              {"created", head.created},
                              {"model", head.model},
                              {"system_fingerprint", "lattice-" LATTICE_VERSION}};
  std::string text = boost::json::serialize(json);
  text.pop_back();  // more members follow
  return text;
}

std::string Quoted(std::string_view text) {
  return boost::json::serialize(boost::json::string_view(text.data(), text.size()));
}

}  // namespace lattice::server
