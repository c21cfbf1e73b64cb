#pragma once

#include <boost/json/object.hpp>
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/api_error.h"
#include "server/http/exchange.h"
#include "server/models/model_pool.h"
#include "server/openai/chat_route.h"
#include "server/openai/metrics.h"
#include "server/openai/served_model.h"
#include "server/openai/worker_pool.h"
#include "server/rerank/rerank_request.h"
#include "server/responses/response_store.h"

namespace lattice::server {

/// What a request for vectors got.
struct EmbeddedTexts {
  EmbedderPtr model;
  Embeddings vectors;
  std::size_t n_tokens = 0;
  bool base64 = false;  ///< It wants them so.
};

/// The routes of OpenAI's API, of other dialects, and what goes with them. `models` and `metrics`
/// outlive it.
class Service {
 public:
  /// draining  requested once the server is to end: /ready says so.
  Service(ModelPool& models, Metrics& metrics, std::stop_token draining);

  /// An HttpServer::Handler.
  void Handle(std::shared_ptr<Exchange> exchange);

  /// Routes that need no key: the health of the server.
  static bool IsOpen(const HttpRequest& request);
  /// An error in the dialect of a request's route.
  static HttpResponse Failure(const HttpRequest& request, const ApiError& error,
                              const std::string& id);

 private:
  using ExchangePtr = std::shared_ptr<Exchange>;
  using Run = void (Service::*)(const ExchangePtr& exchange);
  struct Route {
    const char* path;    // with /v1 in front or without
    const char* method;  // GET goes for HEAD, too
    Run run;
    WorkerPool Service::*pool;  // null: at once, on the server's thread
  };
  static const Route kRoutes[];

  void Health(const ExchangePtr& exchange);
  void Ready(const ExchangePtr& exchange);
  void ListModels(const ExchangePtr& exchange);
  void ShowModel(const ExchangePtr& exchange);
  void LoadModel(const ExchangePtr& exchange);
  void UnloadModel(const ExchangePtr& exchange);
  void PrintMetrics(const ExchangePtr& exchange);
  void ShowProperties(const ExchangePtr& exchange);
  void ShowVersion(const ExchangePtr& exchange);
  void Ping(const ExchangePtr& exchange);
  void Chat(const ExchangePtr& exchange);
  void Complete(const ExchangePtr& exchange);
  void Embed(const ExchangePtr& exchange);
  void Messages(const ExchangePtr& exchange);
  void CountTokens(const ExchangePtr& exchange);
  void Respond(const ExchangePtr& exchange);
  void ShowResponse(const ExchangePtr& exchange);
  void DeleteResponse(const ExchangePtr& exchange);
  void OllamaChat(const ExchangePtr& exchange);
  void OllamaGenerate(const ExchangePtr& exchange);
  void OllamaEmbed(const ExchangePtr& exchange);
  void OllamaEmbedOne(const ExchangePtr& exchange);
  void OllamaTags(const ExchangePtr& exchange);
  void OllamaPs(const ExchangePtr& exchange);
  void OllamaVersion(const ExchangePtr& exchange);
  void OllamaShow(const ExchangePtr& exchange);
  void Tokenize(const ExchangePtr& exchange);
  void Detokenize(const ExchangePtr& exchange);
  void ApplyTemplate(const ExchangePtr& exchange);
  void Rerank(const ExchangePtr& exchange);
  void RerankCohere(const ExchangePtr& exchange);
  void EmbedTexts(const ExchangePtr& exchange);
  void ShowInfo(const ExchangePtr& exchange);

  struct FoundRoute {
    const Route* route = nullptr;  // null: none with this method
    std::string methods;           // that the path takes; empty: it is unknown
  };
  static FoundRoute FindRoute(std::string_view path, std::string_view method);
  /// Of the models that fit a body's "model".
  ApiResult<TextModelPtr> TextModel(const boost::json::object& body) const;
  /// Reads a body of chat/completions and renders its prompt.
  ApiResult<PreparedChat> PrepareChat(const boost::json::object& body) const;
  /// Has it answered in the dialect of a route.
  std::optional<ApiError> StartChat(const ExchangePtr& exchange, const boost::json::object& body,
                                    const ChatRoute& route);
  std::optional<ApiError> StartMessages(const ExchangePtr& exchange);
  std::optional<ApiError> StartResponse(const ExchangePtr& exchange);
  ApiResult<std::size_t> CountOfTokens(const Exchange& exchange) const;
  std::optional<ApiError> StartCompletion(const ExchangePtr& exchange);
  std::optional<ApiError> StartOllama(const ExchangePtr& exchange, bool is_chat);
  ApiResult<std::string> OllamaEmbedJson(const Exchange& exchange, bool of_one);
  ApiResult<std::string> OllamaShowJson(const Exchange& exchange) const;
  /// Embeds the texts of a body of /v1/embeddings.
  ApiResult<EmbeddedTexts> EmbeddingsOf(const Exchange& exchange, const boost::json::object& body);
  ApiResult<std::string> EmbeddingsJson(const Exchange& exchange);
  ApiResult<std::string> TokensJson(const Exchange& exchange) const;
  ApiResult<std::string> TextJson(const Exchange& exchange) const;
  ApiResult<std::string> PromptJson(const Exchange& exchange) const;
  ApiResult<std::string> RerankJson(const Exchange& exchange, RerankDialect dialect);
  ApiResult<std::string> VectorsJson(const Exchange& exchange);

  ModelPool& models_;
  Metrics& metrics_;
  const std::stop_token draining_;
  const std::shared_ptr<ResponseStore> responses_;  // answers that are still being made keep it
  WorkerPool request_pool_;                         // reading requests and rendering prompts
  WorkerPool embedding_pool_;  // embedding, ranking: waits for its turn at the model
};

/// Without "/v1" in front and slashes behind.
std::string_view ShortPath(std::string_view path);

/// A body's "model".
ApiResult<std::optional<std::string>> ModelName(const boost::json::object& body);

/// A seed that nobody chose.
std::uint64_t RandomSeed();

/// Answers with `body`, or with the error.
void Answer(Exchange& exchange, ApiResult<std::string> body);

}  // namespace lattice::server
