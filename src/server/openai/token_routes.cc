#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "base/utf8.h"
#include "server/openai/answer_json.h"
#include "server/openai/completion_request.h"
#include "server/openai/field_reader.h"
#include "server/openai/service.h"

namespace lattice::server {
namespace {

constexpr std::size_t kMaxTexts = 2048;

constexpr std::string_view kTokenizeNames[] = {
    "model",         "content",     "prompt",           "add_special", "add_special_tokens",
    "parse_special", "with_pieces", "return_token_strs"};
constexpr std::string_view kDetokenizeNames[] = {"model", "tokens"};

/// The pieces in the way of llama.cpp: a text, or the bytes of what is no text.
boost::json::value PieceJson(const tokenizers::Tokenizer& tokenizer, TokenId id) {
  const std::string bytes = tokenizer.TokenBytes(id).value_or("");
  if (TokenString(tokenizer, id) == bytes) return boost::json::value(bytes);
  boost::json::array numbers;
  for (const char c : bytes) numbers.push_back(static_cast<unsigned char>(c));
  return numbers;
}

/// A token in the way of Text Embeddings Inference; offsets count characters.
boost::json::object TokenJson(const tokenizers::Tokenizer& tokenizer, TokenId id,
                              tokenizers::Offset offset) {
  const bool special = tokenizer.IsSpecial(id);
  boost::json::object token = {{"id", id},
                               {"text", ToValidUtf8(tokenizer.TokenText(id).value_or(""))},
                               {"special", special},
                               {"start", nullptr},
                               {"stop", nullptr}};
  if (!special) {
    token["start"] = offset.begin;
    token["stop"] = offset.end;
  }
  return token;
}

ApiResult<std::string> TokensOfInputs(const boost::json::object& body,
                                      const tokenizers::Tokenizer& tokenizer) {
  FieldReader reader(body);
  const std::vector<std::string> texts = reader.Strings("inputs", kMaxTexts);
  if (texts.empty()) reader.Complain("inputs", "must be a text or an array of texts");
  tokenizers::EncodeOptions options;
  options.add_special_tokens = reader.Bool("add_special_tokens").value_or(true);
  options.with_offsets = true;
  constexpr std::string_view kNames[] = {"model", "inputs", "add_special_tokens"};
  reader.RefuseOthers({kNames});
  if (!reader.ok()) return reader.error();
  boost::json::array lists;
  for (const std::string& text : texts) {
    const auto encoding = tokenizer.Encode(text, options);
    if (!encoding) return FromError(encoding.error());
    boost::json::array tokens;
    for (std::size_t i = 0; i < encoding->ids.size(); ++i) {
      tokens.push_back(TokenJson(tokenizer, encoding->ids[i], encoding->offsets[i]));
    }
    lists.push_back(std::move(tokens));
  }
  return boost::json::serialize(lists);
}

/// Of {"content"}, which llama.cpp's clients send, or {"prompt"}, which vLLM's do.
ApiResult<std::vector<TokenId>> IdsOfText(const boost::json::object& body,
                                          const tokenizers::Tokenizer& tokenizer) {
  FieldReader reader(body);
  const auto content = reader.String("content"), prompt = reader.String("prompt");
  if (content.has_value() == prompt.has_value()) {
    reader.Complain("content", "or 'prompt' is needed, not both");
  }
  tokenizers::EncodeOptions options;
  // The first comes without special tokens around it, the second with them.
  const auto add = reader.Bool("add_special"), add_tokens = reader.Bool("add_special_tokens");
  options.add_special_tokens = add.value_or(add_tokens.value_or(prompt.has_value()));
  options.special_as_text = !reader.Bool("parse_special").value_or(true);
  reader.RefuseOthers({kTokenizeNames});
  if (!reader.ok()) return reader.error();
  auto encoding = tokenizer.Encode(content ? *content : *prompt, options);
  if (!encoding) return FromError(encoding.error());
  return std::move(encoding->ids);
}

ApiResult<std::string> TokenList(const boost::json::object& body, std::vector<TokenId> ids,
                                 const ServedTextModel& model) {
  FieldReader reader(body);
  const bool with_pieces = reader.Bool("with_pieces").value_or(false);
  const bool with_texts = reader.Bool("return_token_strs").value_or(false);
  if (!reader.ok()) return reader.error();
  boost::json::array tokens, texts;
  for (const TokenId id : ids) {
    if (with_texts) texts.emplace_back(ToValidUtf8(model.tokenizer->TokenText(id).value_or("")));
    if (with_pieces) {
      tokens.push_back({{"id", id}, {"piece", PieceJson(*model.tokenizer, id)}});
    } else {
      tokens.push_back(id);
    }
  }
  boost::json::object out = {{"count", tokens.size()},
                             {"max_model_len", model.context_tokens},
                             {"tokens", std::move(tokens)}};
  if (with_texts) out["token_strs"] = std::move(texts);
  return boost::json::serialize(out);
}

}  // namespace

void Service::Tokenize(const ExchangePtr& exchange) { Answer(*exchange, TokensJson(*exchange)); }

void Service::Detokenize(const ExchangePtr& exchange) { Answer(*exchange, TextJson(*exchange)); }

void Service::ApplyTemplate(const ExchangePtr& exchange) {
  Answer(*exchange, PromptJson(*exchange));
}

/// With "inputs", which is Text Embeddings Inference's: of an embedding model, a ranking one or a
/// generator.
ApiResult<std::string> Service::TokensJson(const Exchange& exchange) const {
  LATTICE_TRY(const boost::json::object body, ParseBody(exchange.request().body));
  LATTICE_TRY(const auto name, ModelName(body));
  if (body.contains("inputs")) {
    const ModelKind kind = models_.KindOf(name);
    if (kind == ModelKind::kText) {
      LATTICE_TRY(const TextModelPtr model, models_.Text(name));
      return TokensOfInputs(body, *model->tokenizer);
    }
    LATTICE_TRY(const EmbedderPtr model,
                kind == ModelKind::kEmbedding ? models_.Embedder(name) : models_.Reranker(name));
    return TokensOfInputs(body, model->model->tokenizer());
  }
  if (body.contains("messages")) {
    boost::json::object chat = body;
    for (const char* own : {"with_pieces", "return_token_strs"}) chat.erase(own);
    LATTICE_TRY(PreparedChat prepared, PrepareChat(chat));
    return TokenList(body, std::move(prepared.prompt.ids), *prepared.model);
  }
  LATTICE_TRY(const TextModelPtr model, models_.Text(name));
  LATTICE_TRY(std::vector<TokenId> ids, IdsOfText(body, *model->tokenizer));
  return TokenList(body, std::move(ids), *model);
}

/// What a conversation becomes before the model reads it.
ApiResult<std::string> Service::PromptJson(const Exchange& exchange) const {
  LATTICE_TRY(const boost::json::object body, ParseBody(exchange.request().body));
  LATTICE_TRY(const PreparedChat chat, PrepareChat(body));
  const auto text = chat.model->tokenizer->Decode(chat.prompt.ids, /*skip_special_tokens=*/false);
  if (!text) return FromError(text.error());
  return boost::json::serialize(boost::json::object{{"prompt", *text}});
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
