#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "server/openai/answer_json.h"
#include "server/openai/completion_request.h"
#include "server/openai/field_reader.h"
#include "server/openai/service.h"

namespace lattice::server {
namespace {

constexpr std::string_view kTokenizeNames[] = {
    "model",         "content",    "prompt", "add_special", "add_special_tokens",
    "parse_special", "with_pieces"};
constexpr std::string_view kDetokenizeNames[] = {"model", "tokens"};

/// The pieces in the way of llama.cpp: a text, or the bytes of what is no text.
boost::json::value PieceJson(const tokenizers::Tokenizer& tokenizer, TokenId id) {
  const std::string bytes = tokenizer.TokenBytes(id).value_or("");
  if (TokenString(tokenizer, id) == bytes) return boost::json::value(bytes);
  boost::json::array numbers;
  for (const char c : bytes) numbers.push_back(static_cast<unsigned char>(c));
  return numbers;
}

}  // namespace

void Service::Tokenize(const ExchangePtr& exchange) { Answer(*exchange, TokensJson(*exchange)); }

void Service::Detokenize(const ExchangePtr& exchange) { Answer(*exchange, TextJson(*exchange)); }

ApiResult<std::string> Service::TokensJson(const Exchange& exchange) const {
  LATTICE_TRY(const boost::json::object body, ParseBody(exchange.request().body));
  LATTICE_TRY(const TextModelPtr model, TextModel(body));
  FieldReader reader(body);
  const auto content = reader.String("content"), prompt = reader.String("prompt");
  if (content.has_value() == prompt.has_value()) {
    reader.Complain("content", "or 'prompt' is needed, not both");
  }
  tokenizers::EncodeOptions options;
  // llama.cpp's "content" comes without special tokens around it, vLLM's "prompt" with them.
  const auto add = reader.Bool("add_special"), add_tokens = reader.Bool("add_special_tokens");
  options.add_special_tokens = add.value_or(add_tokens.value_or(prompt.has_value()));
  options.special_as_text = !reader.Bool("parse_special").value_or(true);
  const bool with_pieces = reader.Bool("with_pieces").value_or(false);
  reader.RefuseOthers({kTokenizeNames});
  if (!reader.ok()) return reader.error();
  const auto encoding = model->tokenizer->Encode(content ? *content : *prompt, options);
  if (!encoding) return FromError(encoding.error());
  boost::json::array tokens;
  for (const TokenId id : encoding->ids) {
    if (with_pieces) {
      tokens.push_back({{"id", id}, {"piece", PieceJson(*model->tokenizer, id)}});
    } else {
      tokens.push_back(id);
    }
  }
  return boost::json::serialize(boost::json::object{{"count", tokens.size()},
                                                    {"max_model_len", model->context_tokens},
                                                    {"tokens", std::move(tokens)}});
}

ApiResult<std::string> Service::TextJson(const Exchange& exchange) const {
  LATTICE_TRY(const boost::json::object body, ParseBody(exchange.request().body));
  LATTICE_TRY(const TextModelPtr model, TextModel(body));
  FieldReader reader(body);
  std::vector<TokenId> ids;
  const boost::json::value* tokens = reader.Find("tokens");
  if (tokens == nullptr || !tokens->is_array() || !tokens->get_array().empty()) {
    const auto inputs = ReadInputs(reader, "tokens", 1, model->tokenizer->vocab_size());
    if (inputs.size() == 1 && inputs[0].index() == 1) {
      ids = std::get<std::vector<TokenId>>(inputs[0]);
    } else {
      reader.Complain("tokens", "must be an array of ids");
    }
  }
  reader.RefuseOthers({kDetokenizeNames});
  if (!reader.ok()) return reader.error();
  const auto text = model->tokenizer->Decode(ids, /*skip_special_tokens=*/false);
  if (!text) return FromError(text.error());
  return boost::json::serialize(boost::json::object{{"content", *text}, {"prompt", *text}});
}

}  // namespace lattice::server
