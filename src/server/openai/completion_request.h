#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/token_id.h"
#include "server/http/api_error.h"
#include "server/openai/generation_fields.h"

namespace lattice::server {

/// A text, or the ids of its tokens.
using TextOrIds = std::variant<std::string, std::vector<TokenId>>;

/// Reads a string, an array of strings, an array of ids or an array of arrays of ids: 1 to
/// max_inputs inputs, ids below vocab. Complaints are in the reader.
std::vector<TextOrIds> ReadInputs(FieldReader& reader, std::string_view key, std::size_t max_inputs,
                                  std::size_t vocab);

/// The body of /v1/completions.
struct CompletionRequest {
  std::vector<TextOrIds> prompts;
  GenerationFields generation;
  bool echo = false;
  bool only_echo = false;  ///< Nothing is to be said after it.
  std::string suffix;      ///< Not empty: the answer stands between the prompt and this.
  std::optional<std::size_t> n_top_log_probabilities;
};

/// Checks every field; 400 names it.
///
/// n_tokens  ids in logit_bias are below it, and those of prompts that are echoed; other prompts
///           may have any below `vocab`.
ApiResult<CompletionRequest> ReadCompletionRequest(const boost::json::object& body,
                                                   std::size_t n_tokens, std::size_t vocab);

}  // namespace lattice::server
