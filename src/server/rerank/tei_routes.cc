#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <utility>

#include "server/openai/embedding_json.h"
#include "server/openai/field_reader.h"
#include "server/openai/service.h"

namespace lattice::server {
namespace {

constexpr std::size_t kMaxInputs = 2048;

constexpr std::string_view kEmbedNames[] = {
    "model",     "inputs",      "truncate",  "truncation_direction",
    "normalize", "prompt_name", "dimensions"};

const char* PoolingName(Pooling pooling) {
  switch (pooling) {
    case Pooling::kCls:
      return "cls";
    case Pooling::kMean:
      return "mean";
    case Pooling::kLast:
      return "last_token";
    case Pooling::kMax:
      return "max";
    case Pooling::kMeanSqrtLength:
      return "mean_sqrt_len";
    case Pooling::kWeightedMean:
      return "weighted_mean";
  }
  return "";
}

struct EmbedBody {
  std::vector<std::string> texts;
  EmbedRequest embed;
  bool truncate = false;
};

ApiResult<EmbedBody> ReadEmbedBody(const boost::json::object& body,
                                   const EmbeddingModelInfo& info) {
  FieldReader reader(body);
  EmbedBody request;
  request.texts = reader.Strings("inputs", kMaxInputs);
  if (request.texts.empty()) {
    reader.Complain("inputs", "must be a text or an array of texts");
  }
  request.truncate = reader.Bool("truncate").value_or(false);
  const auto direction = reader.String("truncation_direction");
  if (direction && *direction != "right" && *direction != "Right") {
    reader.Complain("truncation_direction", "may only be \"right\"", "unsupported_parameter");
  }
  request.embed.normalize = reader.Bool("normalize").value_or(true);
  const std::string prompt = reader.String("prompt_name").value_or("");
  if (prompt == "query") {
    request.embed.role = Role::kQuery;
  } else if (prompt == "document" || prompt == "passage") {
    request.embed.role = Role::kPassage;
  } else if (!prompt.empty()) {
    reader.Complain("prompt_name", "must be query, document or passage");
  }
  request.embed.dimensions = static_cast<std::size_t>(
      reader.Int("dimensions", 1, static_cast<std::int64_t>(info.dimensions)).value_or(0));
  reader.RefuseOthers({kEmbedNames});
  if (!reader.ok()) return reader.error();
  return request;
}

}  // namespace

void Service::EmbedTexts(const ExchangePtr& exchange) { Answer(*exchange, VectorsJson(*exchange)); }

ApiResult<std::string> Service::VectorsJson(const Exchange& exchange) {
  const auto start = std::chrono::steady_clock::now();
  LATTICE_TRY(const boost::json::object body, ParseBody(exchange.request().body));
  LATTICE_TRY(const auto name, ModelName(body));
  LATTICE_TRY(const EmbedderPtr model, models_.Embedder(name));
  LATTICE_TRY(EmbedBody request, ReadEmbedBody(body, model->info));
  request.embed.stop = exchange.gone();
  const auto embeddings = model->model->Embed(request.texts, request.embed);
  if (!embeddings) return FromError(embeddings.error());
  if (!request.truncate) {
    if (auto error = FirstTooLong(embeddings->usage, "inputs")) return *std::move(error);
  }
  std::size_t n_tokens = 0;
  std::string out = "[";
  for (std::size_t i = 0; i < embeddings->size(); ++i) {
    n_tokens += embeddings->usage[i].n_tokens;
    if (i > 0) out += ',';
    AppendVector((*embeddings)[i], /*base64=*/false, out);
  }
  out += ']';
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  metrics_.ObserveEmbedding(embeddings->size(), n_tokens, time.count());
  return out;
}

void Service::ShowInfo(const ExchangePtr& exchange) {
  const bool embeds = models_.Has(ModelKind::kEmbedding);
  const auto model = embeds ? models_.Embedder(std::nullopt) : models_.Reranker(std::nullopt);
  if (!model) return exchange->Reply(ErrorResponse(model.error()));
  const EmbeddingModelInfo& info = (*model)->info;
  boost::json::object type;
  if (embeds) {
    type["embedding"] = {{"pooling", PoolingName(info.pooling)}};
  } else {
    type["reranker"] = {{"id2label", {{"0", "LABEL_0"}}}, {"label2id", {{"LABEL_0", 0}}}};
  }
  exchange->Reply(
      {.body = boost::json::serialize(boost::json::object{{"model_id", (*model)->id},
                                                          {"model_sha", info.revision},
                                                          {"model_dtype", "float32"},
                                                          {"model_type", std::move(type)},
                                                          {"max_input_length", info.max_tokens},
                                                          {"max_client_batch_size", kMaxInputs},
                                                          {"auto_truncate", false},
                                                          {"version", LATTICE_VERSION}})});
}

}  // namespace lattice::server
