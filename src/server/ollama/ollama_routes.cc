#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <utility>

#include "server/ollama/ollama_request.h"
#include "server/ollama/ollama_writer.h"
#include "server/openai/chat_request.h"
#include "server/openai/embedding_json.h"
#include "server/openai/field_reader.h"
#include "server/openai/service.h"

namespace lattice::server {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::serialize;

void Send(Exchange& exchange, ApiResult<std::string> body) {
  if (!body) return exchange.Reply(OllamaFailure(body.error()));
  exchange.Reply({.body = *std::move(body)});
}

object DetailsJson() {
  return {{"parent_model", ""},  {"format", ""},         {"family", ""},
          {"families", array()}, {"parameter_size", ""}, {"quantization_level", ""}};
}

object ModelJson(const ModelState& state) {
  return {{"name", state.id}, {"model", state.id}, {"modified_at", Rfc3339(state.created)},
          {"size", 0},        {"digest", ""},      {"details", DetailsJson()}};
}

std::string ModelsJson(const std::vector<ModelState>& states, bool only_loaded) {
  array models;
  for (const ModelState& state : states) {
    if (!only_loaded) {
      models.push_back(ModelJson(state));
    } else if (state.phase == ModelState::Phase::kLoaded) {
      object model = ModelJson(state);
      model["size_vram"] = 0;
      model["expires_at"] = Rfc3339(UnixNow());
      if (state.max_tokens) model["context_length"] = *state.max_tokens;
      models.push_back(std::move(model));
    }
  }
  return serialize(object{{"models", std::move(models)}});
}

/// What /api/embed and /api/embeddings ask for, as a body of /v1/embeddings.
ApiResult<object> EmbeddingsBody(const object& body, const char* texts) {
  static constexpr std::string_view kNames[] = {"model",   "input",      "prompt",    "truncate",
                                                "options", "keep_alive", "dimensions"};
  FieldReader reader(body);
  const auto model = reader.String("model");
  if (!model) reader.Complain("model", "is missing");
  const auto* input = reader.Find(texts);
  if (input == nullptr) reader.Complain(texts, "is missing");
  reader.RefuseOthers({kNames});
  if (!reader.ok()) return reader.error();
  object asked = {{"model", OllamaModelName(*model)},
                  {"input", *input},
                  {"truncate", reader.Bool("truncate").value_or(true)}};
  if (const auto* dimensions = reader.Find("dimensions")) asked["dimensions"] = *dimensions;
  if (!reader.ok()) return reader.error();
  return asked;
}

}  // namespace

void Service::OllamaChat(const ExchangePtr& exchange) {
  if (const auto error = StartOllama(exchange, /*is_chat=*/true)) {
    exchange->Reply(OllamaFailure(*error));
  }
}

void Service::OllamaGenerate(const ExchangePtr& exchange) {
  if (const auto error = StartOllama(exchange, /*is_chat=*/false)) {
    exchange->Reply(OllamaFailure(*error));
  }
}

std::optional<ApiError> Service::StartOllama(const ExchangePtr& exchange, bool is_chat) {
  LATTICE_TRY(const object body, ParseBody(exchange->request().body));
  LATTICE_TRY(const object chat,
              is_chat ? ChatBodyOfOllamaChat(body) : ChatBodyOfOllamaGenerate(body));
  if (OnlyLoads(body)) {
    LATTICE_TRY(const TextModelPtr model, TextModel(chat));
    object checked = chat;  // Its fields have no influence, and are judged all the same.
    checked["messages"].emplace_array().push_back(object{{"role", "user"}, {"content", ""}});
    LATTICE_TRY_VOID(ReadChatRequest(checked, model->n_tokens, {.calls = chat::CallForm::kXml}));
    object answer = {{"model", model->id}, {"created_at", Rfc3339(UnixNow())}};
    if (is_chat) {
      answer["message"] = {{"role", "assistant"}, {"content", ""}};
    } else {
      answer["response"] = "";
    }
    answer["done"] = true;
    answer["done_reason"] = "load";
    exchange->Reply({.body = serialize(answer) + "\n"});
    return std::nullopt;
  }
  const ChatRoute route{
      .id_prefix = "",
      .call_prefix = "call_",
      .make_writer = [is_chat](const ChatStart& start) -> std::unique_ptr<ChatWriter> {
        return std::make_unique<OllamaWriter>(start.head, is_chat);
      }};
  return StartChat(exchange, chat, route);
}

void Service::OllamaEmbed(const ExchangePtr& exchange) {
  Send(*exchange, OllamaEmbedJson(*exchange, /*of_one=*/false));
}

void Service::OllamaEmbedOne(const ExchangePtr& exchange) {
  Send(*exchange, OllamaEmbedJson(*exchange, /*of_one=*/true));
}

ApiResult<std::string> Service::OllamaEmbedJson(const Exchange& exchange, bool of_one) {
  const auto begin = std::chrono::steady_clock::now();
  LATTICE_TRY(const object body, ParseBody(exchange.request().body));
  LATTICE_TRY(const object asked, EmbeddingsBody(body, of_one ? "prompt" : "input"));
  LATTICE_TRY(const EmbeddedTexts texts, EmbeddingsOf(exchange, asked));
  std::string out = of_one ? "{\"embedding\":" : "{\"embeddings\":[";
  for (std::size_t i = 0; i < texts.vectors.size(); ++i) {
    if (i > 0) out += ',';
    AppendVector(texts.vectors[i], /*base64=*/false, out);
    if (of_one) return out + "}";
  }
  const auto time = std::chrono::steady_clock::now() - begin;
  object rest = {
      {"model", texts.model->id},
      {"total_duration", std::chrono::duration_cast<std::chrono::nanoseconds>(time).count()},
      {"load_duration", 0},
      {"prompt_eval_count", texts.n_tokens}};
  return out + "]," + serialize(rest).substr(1);
}

void Service::OllamaTags(const ExchangePtr& exchange) {
  exchange->Reply({.body = ModelsJson(models_.States(), /*only_loaded=*/false)});
}

void Service::OllamaPs(const ExchangePtr& exchange) {
  exchange->Reply({.body = ModelsJson(models_.States(), /*only_loaded=*/true)});
}

void Service::OllamaVersion(const ExchangePtr& exchange) {
  exchange->Reply({.body = R"({"version":")" LATTICE_VERSION R"("})"});
}

void Service::OllamaShow(const ExchangePtr& exchange) {
  Send(*exchange, OllamaShowJson(*exchange));
}

ApiResult<std::string> Service::OllamaShowJson(const Exchange& exchange) const {
  LATTICE_TRY(const object body, ParseBody(exchange.request().body));
  static constexpr std::string_view kNames[] = {"model", "name", "verbose"};
  FieldReader reader(body);
  auto name = reader.String("model");
  if (!name) name = reader.String("name");
  if (!name) reader.Complain("model", "is missing");
  reader.RefuseOthers({kNames});
  if (!reader.ok()) return reader.error();
  const auto state = models_.State(OllamaModelName(*name));
  if (!state) return models_.Unknown();
  object shown = {{"modelfile", ""},
                  {"parameters", ""},
                  {"template", ""},
                  {"details", DetailsJson()},
                  {"model_info", object()},
                  {"capabilities", array()},
                  {"modified_at", Rfc3339(state->created)}};
  if (state->max_tokens) {
    shown["model_info"] = {{"general.architecture", "lattice"},
                           {"lattice.context_length", *state->max_tokens}};
  }
  array capabilities;
  if (state->kind == ModelKind::kEmbedding) capabilities.push_back("embedding");
  if (state->kind == ModelKind::kText) {
    capabilities.push_back("completion");
    LATTICE_TRY(const TextModelPtr model, models_.Text(state->id));
    if (model->chat) {
      shown["template"] = model->chat->chat_template.source();
      if (model->chat->calls) capabilities.push_back("tools");
      if (model->chat->markers) capabilities.push_back("thinking");
    }
  }
  shown["capabilities"] = std::move(capabilities);
  return serialize(shown);
}

}  // namespace lattice::server
