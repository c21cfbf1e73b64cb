#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "server/openai/embedding_json.h"
#include "server/openai/field_reader.h"
#include "server/openai/service.h"
#include "server/rerank/rerank_request.h"

namespace lattice::server {
namespace {

/// Text Embeddings Inference promises a number from 0 to 1 of every model.
double TeiScore(const RerankScore& score, bool raw) {
  const double logit = score.logit;
  return raw ? logit : 1.0 / (1.0 + std::exp(-logit));
}

/// Best first, equal ones in the order of the request.
std::vector<std::size_t> Ranking(std::span<const RerankScore> scores, std::size_t top_n) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return scores[a].logit > scores[b].logit; });
  if (top_n != 0) order.resize(std::min(top_n, order.size()));
  return order;
}

boost::json::array TeiResults(const RerankBody& request, std::span<const RerankScore> scores) {
  boost::json::array out;
  for (const std::size_t i : Ranking(scores, 0)) {
    boost::json::object item = {{"index", i}, {"score", TeiScore(scores[i], request.raw_scores)}};
    if (request.return_documents) item["text"] = request.documents[i];
    out.push_back(std::move(item));
  }
  return out;
}

boost::json::array Results(const RerankBody& request, std::span<const RerankScore> scores) {
  boost::json::array out;
  for (const std::size_t i : Ranking(scores, request.top_n)) {
    boost::json::object item = {{"index", i}, {"relevance_score", scores[i].score}};
    if (request.return_documents) item["document"] = {{"text", request.documents[i]}};
    out.push_back(std::move(item));
  }
  return out;
}

std::string AnswerText(const RerankBody& request, std::span<const RerankScore> scores,
                       const std::string& model, std::size_t n_tokens, const std::string& id) {
  if (request.dialect == RerankDialect::kTextEmbeddingsInference) {
    return boost::json::serialize(TeiResults(request, scores));
  }
  boost::json::object out = {{"id", id}};
  if (request.dialect == RerankDialect::kCohere) {
    out["results"] = Results(request, scores);
    out["meta"] = {{"api_version", {{"version", "2"}}},
                   {"billed_units", {{"search_units", 1}}},
                   {"tokens", {{"input_tokens", n_tokens}}}};
  } else {
    out["object"] = "list";
    out["model"] = model;
    out["results"] = Results(request, scores);
    out["usage"] = {{"prompt_tokens", n_tokens}, {"total_tokens", n_tokens}};
  }
  return boost::json::serialize(out);
}

}  // namespace

void Service::Rerank(const ExchangePtr& exchange) {
  Answer(*exchange, RerankJson(*exchange, RerankDialect::kJina));
}

void Service::RerankCohere(const ExchangePtr& exchange) {
  Answer(*exchange, RerankJson(*exchange, RerankDialect::kCohere));
}

ApiResult<std::string> Service::RerankJson(const Exchange& exchange, RerankDialect dialect) {
  const auto start = std::chrono::steady_clock::now();
  LATTICE_TRY(const boost::json::object body, ParseBody(exchange.request().body));
  LATTICE_TRY(const RerankBody request, ReadRerankBody(body, dialect));
  LATTICE_TRY(const auto name, ModelName(body));
  LATTICE_TRY(const EmbedderPtr model, models_.Reranker(name));
  RerankRequest rerank;
  rerank.query = request.query;
  rerank.instruction = request.instruction;
  rerank.stop = exchange.gone();
  const auto scores = model->model->Rerank(request.documents, rerank);
  if (!scores) return FromError(scores.error());
  std::size_t n_tokens = 0;
  std::vector<TextUsage> usage;
  for (const RerankScore& score : *scores) {
    n_tokens += score.usage.n_tokens;
    usage.push_back(score.usage);
  }
  const bool tei = request.dialect == RerankDialect::kTextEmbeddingsInference;
  if (!request.truncate) {
    if (auto error = FirstTooLong(usage, tei ? "texts" : "documents")) return *std::move(error);
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  metrics_.ObserveRerank(scores->size(), n_tokens, time.count());
  return AnswerText(request, *scores, model->id, n_tokens, exchange.id());
}

}  // namespace lattice::server
