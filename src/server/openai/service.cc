#include "server/openai/service.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <random>
#include <utility>

#include "server/openai/field_reader.h"

namespace lattice::server {
namespace {

constexpr std::size_t kRequestThreads = 2, kEmbeddingThreads = 4;
constexpr std::size_t kMaxWaiting = 128;
constexpr std::size_t kMaxResponses = 1024, kMaxResponseBytes = std::size_t{64} << 20;

/// Without "/v1" in front and slashes behind.
std::string_view ShortPath(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  if (path.starts_with("/v1/")) path.remove_prefix(3);
  return path;
}

constexpr std::string_view kModelPath = "/models/";

template <typename Model>
Model Find(const std::vector<Model>& models, std::string_view name) {
  for (const Model& model : models) {
    if (model->id == name || std::ranges::find(model->aliases, name) != model->aliases.end()) {
      return model;
    }
  }
  return nullptr;
}

/// The model of that name; without one, the first.
template <typename Model>
Model Choose(const std::vector<Model>& models, const std::optional<std::string>& name) {
  if (name) return Find(models, *name);
  return models.empty() ? nullptr : models.front();
}

boost::json::object ModelJson(const std::string& id, std::int64_t created, std::size_t max_tokens) {
  return {{"id", id},
          {"object", "model"},
          {"created", created},
          {"owned_by", "lattice"},
          {"max_model_len", max_tokens}};
}

/// What a browser asks before a request of another origin; the transport names the origin.
HttpResponse Preflight(const char* method) {
  const std::string methods = std::string(method) + ", OPTIONS";
  return {.status = 204,
          .headers = {{"Allow", methods},
                      {"Access-Control-Allow-Methods", methods},
                      {"Access-Control-Allow-Headers",
                       "authorization, content-type, x-api-key, anthropic-version, anthropic-beta, "
                       "openai-organization, "
                       "openai-project, openai-beta, idempotency-key, x-stainless-arch, "
                       "x-stainless-async, x-stainless-helper-method, x-stainless-lang, "
                       "x-stainless-os, x-stainless-package-version, x-stainless-poll-helper, "
                       "x-stainless-retry-count, x-stainless-runtime, x-stainless-runtime-version, "
                       "x-stainless-timeout"},
                      {"Access-Control-Max-Age", "600"}}};
}

ApiResult<std::optional<std::string>> ModelName(const boost::json::object& body) {
  FieldReader reader(body);
  auto name = reader.String("model");
  if (!reader.ok()) return reader.error();
  return name;
}

}  // namespace

const Service::Route Service::kRoutes[] = {
    {"/health", "GET", &Service::Health, nullptr},
    {"/ready", "GET", &Service::Ready, nullptr},
    {"/models", "GET", &Service::ListModels, nullptr},
    {"/models/{id}", "GET", &Service::ShowModel, nullptr},
    {"/metrics", "GET", &Service::PrintMetrics, nullptr},
    {"/chat/completions", "POST", &Service::Chat, &Service::request_pool_},
    {"/completions", "POST", &Service::Complete, &Service::request_pool_},
    {"/embeddings", "POST", &Service::Embed, &Service::embedding_pool_},
    {"/messages", "POST", &Service::Messages, &Service::request_pool_},
    {"/messages/count_tokens", "POST", &Service::CountTokens, &Service::request_pool_},
    {"/responses", "POST", &Service::Respond, &Service::request_pool_},
    {"/tokenize", "POST", &Service::Tokenize, &Service::request_pool_},
    {"/detokenize", "POST", &Service::Detokenize, &Service::request_pool_},
};

Service::Service(const ServedModels& models, Metrics& metrics, std::stop_token draining)
    : models_(models),
      metrics_(metrics),
      draining_(std::move(draining)),
      responses_(std::make_shared<ResponseStore>(kMaxResponses, kMaxResponseBytes)),
      request_pool_(kRequestThreads, kMaxWaiting),
      embedding_pool_(kEmbeddingThreads, kMaxWaiting) {}

bool Service::IsOpen(const HttpRequest& request) {
  const std::string_view path = ShortPath(request.path);
  return path == "/health" || path == "/ready";
}

const Service::Route* Service::FindRoute(std::string_view path, std::string_view method,
                                         bool& known_path) {
  path = ShortPath(path);
  if (path.starts_with(kModelPath)) path = "/models/{id}";
  const auto* found = std::ranges::find(kRoutes, path, &Route::path);
  known_path = found != std::end(kRoutes);
  if (!known_path) return nullptr;
  const std::string_view wanted = found->method;
  const bool fits =
      method == wanted || method == "OPTIONS" || (method == "HEAD" && wanted == "GET");
  return fits ? found : nullptr;
}

void Service::Handle(ExchangePtr exchange) {
  const HttpRequest& request = exchange->request();
  bool known_path = false;
  const Route* route = FindRoute(request.path, request.method, known_path);
  if (route == nullptr) {
    return exchange->Reply(ErrorResponse(
        known_path ? ApiError{.status = 405, .message = "this route takes another method"}
                   : ApiError{.status = 404, .message = "there is no such route"}));
  }
  exchange->SetRoute(route->path);
  if (request.method == "OPTIONS") return exchange->Reply(Preflight(route->method));
  if (route->pool == nullptr) return (this->*route->run)(exchange);
  const bool accepted =
      (this->*route->pool).Submit([this, route, exchange] { (this->*route->run)(exchange); });
  if (!accepted) {
    exchange->Reply(ErrorResponse({.status = 429,
                                   .message = "too many requests are waiting",
                                   .code = "rate_limit_exceeded"}));
  }
}

void Service::Health(const ExchangePtr& exchange) {
  exchange->Reply({.body = R"({"status":"ok"})"});
}

void Service::Ready(const ExchangePtr& exchange) {
  if (draining_.stop_requested()) {
    return exchange->Reply(
        ErrorResponse({.status = 503, .message = "the server is shutting down"}));
  }
  exchange->Reply({.body = R"({"status":"ready"})"});
}

void Service::ListModels(const ExchangePtr& exchange) {
  boost::json::array data;
  for (const auto& model : models_.text) {
    data.push_back(ModelJson(model->id, model->created, model->context_tokens));
  }
  for (const auto& model : models_.embedders) {
    data.push_back(ModelJson(model->id, model->created, model->info.max_tokens));
  }
  exchange->Reply({.body = boost::json::serialize(
                       boost::json::object{{"object", "list"}, {"data", std::move(data)}})});
}

void Service::ShowModel(const ExchangePtr& exchange) {
  const std::string_view id = ShortPath(exchange->request().path).substr(kModelPath.size());
  if (const auto text = Find(models_.text, id)) {
    return exchange->Reply(
        {.body = boost::json::serialize(ModelJson(text->id, text->created, text->context_tokens))});
  }
  if (const auto embedder = Find(models_.embedders, id)) {
    return exchange->Reply({.body = boost::json::serialize(ModelJson(
                                embedder->id, embedder->created, embedder->info.max_tokens))});
  }
  exchange->Reply(ErrorResponse(UnknownModel("")));
}

void Service::PrintMetrics(const ExchangePtr& exchange) {
  std::vector<Metrics::Model> models;
  for (const auto& model : models_.text) models.push_back({model->id, model->metrics()});
  exchange->Reply(
      {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics_.Print(models)});
}

ApiError Service::UnknownModel(std::string_view kind) const {
  std::string known;
  const auto add = [&](const std::string& id) { known += (known.empty() ? "" : ", ") + id; };
  if (kind != "embedding") {
    for (const auto& model : models_.text) add(model->id);
  }
  if (kind != "text") {
    for (const auto& model : models_.embedders) add(model->id);
  }
  return {.status = 404,
          .message = known.empty() ? "this server has no model for that"
                                   : "there is no such model here; there are: " + known,
          .param = "model",
          .code = "model_not_found"};
}

ApiResult<TextModelPtr> Service::TextModel(const boost::json::object& body) const {
  LATTICE_TRY(const auto name, ModelName(body));
  auto found = Choose(models_.text, name);
  if (found == nullptr) return UnknownModel("text");
  return found;
}

ApiResult<EmbedderPtr> Service::Embedder(const boost::json::object& body) const {
  LATTICE_TRY(const auto name, ModelName(body));
  auto found = Choose(models_.embedders, name);
  if (found == nullptr) return UnknownModel("embedding");
  return found;
}

std::uint64_t RandomSeed() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

void Answer(Exchange& exchange, ApiResult<std::string> body) {
  if (!body) return exchange.Reply(ErrorResponse(body.error()));
  exchange.Reply({.body = std::move(body).value()});
}

}  // namespace lattice::server
