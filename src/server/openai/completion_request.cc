#include "server/openai/completion_request.h"

#include <boost/json/array.hpp>
#include <utility>

namespace lattice::server {
namespace {

constexpr std::size_t kDefaultMaxTokens = 16;  // as OpenAI's API documents it

constexpr std::string_view kNames[] = {"prompt", "echo", "suffix"};

std::optional<std::vector<TokenId>> Ids(const boost::json::array& array, std::size_t vocab) {
  std::vector<TokenId> ids;
  ids.reserve(array.size());
  for (const boost::json::value& item : array) {
    const auto id = ExactInt(item);
    if (!id || *id < 0 || static_cast<std::uint64_t>(*id) >= vocab) return std::nullopt;
    ids.push_back(static_cast<TokenId>(*id));
  }
  return ids;
}

}  // namespace

std::vector<TextOrIds> ReadInputs(FieldReader& reader, std::string_view key, std::size_t max_inputs,
                                  std::size_t vocab) {
  const boost::json::value* value = reader.Find(key);
  std::vector<TextOrIds> inputs;
  const auto complain = [&](std::string message) {
    reader.Complain(key, std::move(message));
    return std::vector<TextOrIds>();
  };
  if (value == nullptr) return complain("is missing");
  if (const auto* text = value->if_string()) {
    inputs.emplace_back(std::string(*text));
    return inputs;
  }
  const auto* array = value->if_array();
  if (array == nullptr) return complain("must be a string or an array");
  if (array->empty()) return complain("must not be empty");
  const std::string bad_ids = "holds ids that are not integers from 0 to " +
                              std::to_string(vocab - 1) + ", the ids of this model";
  if (array->front().is_number()) {
    auto ids = Ids(*array, vocab);
    if (!ids) return complain(bad_ids);
    inputs.emplace_back(*std::move(ids));
    return inputs;
  }
  if (array->size() > max_inputs) {
    return complain("has more than " + std::to_string(max_inputs) + " entries");
  }
  for (const boost::json::value& item : *array) {
    if (const auto* text = item.if_string()) {
      inputs.emplace_back(std::string(*text));
      continue;
    }
    const auto* inner = item.if_array();
    if (inner == nullptr) return complain("must hold strings alone, or arrays of ids alone");
    if (inner->empty()) return complain("must not hold empty arrays");
    auto ids = Ids(*inner, vocab);
    if (!ids) return complain(bad_ids);
    inputs.emplace_back(*std::move(ids));
  }
  for (const TextOrIds& input : inputs) {
    if (input.index() != inputs.front().index()) {
      return complain("must hold strings alone, or arrays of ids alone");
    }
  }
  return inputs;
}

ApiResult<CompletionRequest> ReadCompletionRequest(const boost::json::object& body,
                                                   std::size_t n_tokens, std::size_t vocab) {
  CompletionRequest request;
  FieldReader reader(body);
  request.echo = reader.Bool("echo").value_or(false);
  // An echo alone has a use: what the model says of a text.
  request.generation = ReadGenerationFields(reader, n_tokens, /*least_most=*/request.echo ? 0 : 1);
  std::optional<std::size_t>& most = request.generation.max_tokens;
  request.only_echo = most == std::size_t{0};
  if (request.only_echo) most = 1;  // which is not shown
  if (!most) most = kDefaultMaxTokens;
  // What is shown and judged must be a token that the model could have said.
  request.prompts = ReadInputs(reader, "prompt", kMaxAnswers, request.echo ? n_tokens : vocab);
  if (request.prompts.size() * request.generation.n > kMaxAnswers) {
    reader.Complain("n", "times the number of prompts is more than " + std::to_string(kMaxAnswers));
  }
  if (const auto n_top = reader.Int("logprobs", 0, 20)) {
    request.n_top_log_probabilities = static_cast<std::size_t>(*n_top);
  }
  request.suffix = reader.String("suffix").value_or("");
  if (request.echo && !request.suffix.empty()) {
    reader.Complain("suffix", "cannot go with 'echo'", "unsupported_parameter");
  }
  reader.RefuseOthers({GenerationFieldNames(), StructureFieldNames(), kNames});
  if (!reader.ok()) return reader.error();
  return request;
}

}  // namespace lattice::server
