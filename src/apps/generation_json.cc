#include "apps/generation_json.h"

#include <boost/json/array.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/utf8.h"

namespace lattice::apps {
namespace {

boost::json::object EntryJson(const decoding::LogProbabilities::Entry& entry,
                              const tokenizers::Tokenizer& tokenizer) {
  const auto text = tokenizer.TokenText(entry.id);
  return {{"token", std::string(text.value_or(""))},
          {"id", entry.id},
          {"logprob", entry.log_probability}};
}

}  // namespace

double Rounded(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return std::strtod(text, nullptr);
}

boost::json::object UsageJson(const engine::GenerationUsage& usage) {
  return {{"prompt_tokens", usage.n_prompt},
          {"cached_tokens", usage.n_cached},
          {"completion_tokens", usage.n_generated},
          {"forced_tokens", usage.n_forced},
          {"total_tokens", usage.n_prompt + usage.n_generated},
          {"time_to_first_token_s", Rounded(usage.first_token_seconds)},
          {"prompt_tokens_per_s", Rounded(usage.prompt_tokens_per_second())},
          {"tokens_per_s", Rounded(usage.decode_tokens_per_second())}};
}

boost::json::object LogProbabilitiesJson(const decoding::LogProbabilities& place,
                                         const tokenizers::Tokenizer& tokenizer) {
  boost::json::object json = EntryJson(place.chosen, tokenizer);
  boost::json::array top;
  for (const auto& entry : place.top) top.push_back(EntryJson(entry, tokenizer));
  json["top"] = std::move(top);
  return json;
}

}  // namespace lattice::apps
