#include "server/openai/service.h"

#include <algorithm>
#include <random>
#include <utility>

#include "server/anthropic/messages_writer.h"
#include "server/ollama/ollama_writer.h"
#include "server/openai/field_reader.h"

namespace lattice::server {
namespace {

constexpr std::size_t kRequestThreads = 2, kEmbeddingThreads = 4;
constexpr std::size_t kMaxWaiting = 128;
constexpr std::size_t kMaxResponses = 1024, kMaxResponseBytes = std::size_t{64} << 20;

/// Paths with a name at their end: what they begin with, and what they are called.
constexpr std::pair<std::string_view, std::string_view> kFolders[] = {
    {"/models/", "/models/{id}"}, {"/responses/", "/responses/{id}"}};

/// What a browser asks before a request of another origin; the transport names the origin.
HttpResponse Preflight(std::string methods) {
  methods += ", OPTIONS";
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

}  // namespace

const Service::Route Service::kRoutes[] = {
    {"/", "GET", &Service::Health, nullptr},  // clients of Ollama look here first
    {"/health", "GET", &Service::Health, nullptr},
    {"/ready", "GET", &Service::Ready, nullptr},
    {"/ping", "GET", &Service::Ping, nullptr},
    {"/version", "GET", &Service::ShowVersion, nullptr},
    {"/props", "GET", &Service::ShowProperties, nullptr},
    {"/info", "GET", &Service::ShowInfo, nullptr},
    {"/models", "GET", &Service::ListModels, nullptr},
    {"/models/load", "POST", &Service::LoadModel, nullptr},
    {"/models/unload", "POST", &Service::UnloadModel, nullptr},
    {"/models/{id}", "GET", &Service::ShowModel, nullptr},
    {"/metrics", "GET", &Service::PrintMetrics, nullptr},
    {"/chat/completions", "POST", &Service::Chat, &Service::request_pool_},
    {"/completions", "POST", &Service::Complete, &Service::request_pool_},
    {"/embeddings", "POST", &Service::Embed, &Service::embedding_pool_},
    {"/messages", "POST", &Service::Messages, &Service::request_pool_},
    {"/messages/count_tokens", "POST", &Service::CountTokens, &Service::request_pool_},
    {"/responses", "POST", &Service::Respond, &Service::request_pool_},
    {"/responses/{id}", "GET", &Service::ShowResponse, nullptr},
    {"/responses/{id}", "DELETE", &Service::DeleteResponse, nullptr},
    {"/rerank", "POST", &Service::Rerank, &Service::embedding_pool_},
    {"/v2/rerank", "POST", &Service::RerankCohere, &Service::embedding_pool_},
    {"/embed", "POST", &Service::EmbedTexts, &Service::embedding_pool_},
    {"/api/chat", "POST", &Service::OllamaChat, &Service::request_pool_},
    {"/api/generate", "POST", &Service::OllamaGenerate, &Service::request_pool_},
    {"/api/embed", "POST", &Service::OllamaEmbed, &Service::embedding_pool_},
    {"/api/embeddings", "POST", &Service::OllamaEmbedOne, &Service::embedding_pool_},
    {"/api/tags", "GET", &Service::OllamaTags, nullptr},
    {"/api/ps", "GET", &Service::OllamaPs, nullptr},
    {"/api/version", "GET", &Service::OllamaVersion, nullptr},
    {"/api/show", "POST", &Service::OllamaShow, &Service::request_pool_},
    {"/tokenize", "POST", &Service::Tokenize, &Service::request_pool_},
    {"/detokenize", "POST", &Service::Detokenize, &Service::request_pool_},
    {"/apply-template", "POST", &Service::ApplyTemplate, &Service::request_pool_},
};

Service::Service(ModelPool& models, Metrics& metrics, std::stop_token draining)
    : models_(models),
      metrics_(metrics),
      draining_(std::move(draining)),
      responses_(std::make_shared<ResponseStore>(kMaxResponses, kMaxResponseBytes)),
      request_pool_(kRequestThreads, kMaxWaiting),
      embedding_pool_(kEmbeddingThreads, kMaxWaiting) {}

bool Service::IsOpen(const HttpRequest& request) {
  const std::string_view path = ShortPath(request.path);
  return path == "/health" || path == "/ready" || path == "/ping";
}

HttpResponse Service::Failure(const HttpRequest& request, const ApiError& error,
                              const std::string& id) {
  const std::string_view path = ShortPath(request.path);
  if (path == "/messages" || path == "/messages/count_tokens") return MessagesFailure(error, id);
  return path.starts_with("/api/") ? OllamaFailure(error) : ErrorResponse(error);
}

Service::FoundRoute Service::FindRoute(std::string_view path, std::string_view method) {
  path = ShortPath(path);
  if (std::ranges::find(kRoutes, path, &Route::path) == std::end(kRoutes)) {
    for (const auto& [folder, pattern] : kFolders) {
      if (path.size() > folder.size() && path.starts_with(folder)) path = pattern;
    }
  }
  FoundRoute found;
  for (const Route& route : kRoutes) {
    if (route.path != path) continue;
    const std::string_view own = route.method;
    if (!found.methods.empty()) found.methods += ", ";
    found.methods += own;
    const bool fits = method == own || method == "OPTIONS" || (method == "HEAD" && own == "GET");
    if (fits && found.route == nullptr) found.route = &route;
  }
  return found;
}

void Service::Handle(ExchangePtr exchange) {
  const HttpRequest& request = exchange->request();
  const auto [route, methods] = FindRoute(request.path, request.method);
  const auto fail = [&](const ApiError& error) {
    return exchange->Reply(Failure(request, error, exchange->id()));
  };
  if (route == nullptr && methods.empty()) {
    return fail({.status = 404, .message = "there is no such route"});
  }
  if (route == nullptr) {
    HttpResponse response =
        Failure(request, {.status = 405, .message = "this route takes " + methods}, exchange->id());
    response.headers.emplace_back("Allow", methods + ", OPTIONS");
    return exchange->Reply(std::move(response));
  }
  exchange->SetRoute(route->path);
  if (request.method == "OPTIONS") return exchange->Reply(Preflight(methods));
  if (route->pool == nullptr) return (this->*route->run)(exchange);
  const bool accepted =
      (this->*route->pool).Submit([this, run = route->run, exchange] { (this->*run)(exchange); });
  if (!accepted) {
    fail(
        {.status = 429, .message = "too many requests are waiting", .code = "rate_limit_exceeded"});
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

std::string_view ShortPath(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  if (path.starts_with("/v1/")) path.remove_prefix(3);
  return path;
}

ApiResult<std::optional<std::string>> ModelName(const boost::json::object& body) {
  FieldReader reader(body);
  auto name = reader.String("model");
  if (!reader.ok()) return reader.error();
  return name;
}

ApiResult<TextModelPtr> Service::TextModel(const boost::json::object& body) const {
  LATTICE_TRY(const auto name, ModelName(body));
  return models_.Text(name);
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
