#include <boost/json/serialize.hpp>
#include <chrono>
#include <utility>

#include "server/openai/completion_request.h"
#include "server/openai/embedding_json.h"
#include "server/openai/field_reader.h"
#include "server/openai/service.h"

namespace lattice::server {
namespace {

constexpr std::size_t kMaxInputs = 2048;

constexpr std::string_view kNames[] = {"model", "input",      "encoding_format", "dimensions",
                                       "user",  "input_type", "truncate"};

struct EmbeddingsRequest {
  std::vector<std::string> texts;
  EmbedRequest embed;
  bool base64 = false;
  bool truncate = false;
};

Role RoleOf(FieldReader& reader) {
  const std::string type = reader.String("input_type").value_or("");
  if (type == "query" || type == "search_query") return Role::kQuery;
  if (type == "document" || type == "passage" || type == "search_document") return Role::kPassage;
  if (!type.empty()) reader.Complain("input_type", "must be query, document or passage");
  return Role::kNone;
}

ApiResult<EmbeddingsRequest> ReadEmbeddingsRequest(const boost::json::object& body,
                                                   const EmbeddingModelInfo& info) {
  EmbeddingsRequest request;
  FieldReader reader(body);
  const std::string format = reader.String("encoding_format").value_or("float");
  if (format != "float" && format != "base64") {
    reader.Complain("encoding_format", "must be float or base64");
  }
  request.base64 = format == "base64";
  const auto most = static_cast<std::int64_t>(info.dimensions);
  request.embed.dimensions =
      static_cast<std::size_t>(reader.Int("dimensions", 1, most).value_or(0));
  request.embed.role = RoleOf(reader);
  request.truncate = reader.Bool("truncate").value_or(false);
  for (TextOrIds& input : ReadInputs(reader, "input", kMaxInputs, std::size_t{1} << 31)) {
    auto* text = std::get_if<std::string>(&input);
    if (text == nullptr) {
      reader.Complain("input",
                      "must hold texts: this server does not embed token ids. LangChain's "
                      "OpenAIEmbeddings sends texts with check_embedding_ctx_length=False",
                      "unsupported_parameter");
    } else if (text->empty()) {
      reader.Complain("input", "must not hold empty texts");
    } else {
      request.texts.push_back(std::move(*text));
    }
  }
  reader.RefuseOthers({kNames});
  if (!reader.ok()) return reader.error();
  return request;
}

}  // namespace

void Service::Embed(const ExchangePtr& exchange) { Answer(*exchange, EmbeddingsJson(*exchange)); }

ApiResult<EmbeddedTexts> Service::EmbeddingsOf(const Exchange& exchange,
                                               const boost::json::object& body) {
  const auto start = std::chrono::steady_clock::now();
  EmbeddedTexts texts;
  LATTICE_TRY(const auto name, ModelName(body));
  LATTICE_TRY(texts.model, models_.Embedder(name));
  LATTICE_TRY(EmbeddingsRequest request, ReadEmbeddingsRequest(body, texts.model->info));
  request.embed.stop = exchange.gone();
  auto embeddings = texts.model->model->Embed(request.texts, request.embed);
  if (!embeddings) return FromError(embeddings.error());
  if (!request.truncate) {
    if (auto error = FirstTooLong(embeddings->usage, "input")) return *std::move(error);
  }
  texts.vectors = *std::move(embeddings);
  texts.base64 = request.base64;
  for (const TextUsage& usage : texts.vectors.usage) texts.n_tokens += usage.n_tokens;
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  metrics_.ObserveEmbedding(texts.vectors.size(), texts.n_tokens, time.count());
  return texts;
}

ApiResult<std::string> Service::EmbeddingsJson(const Exchange& exchange) {
  LATTICE_TRY(const boost::json::object body, ParseBody(exchange.request().body));
  LATTICE_TRY(const EmbeddedTexts texts, EmbeddingsOf(exchange, body));
  std::string out = R"({"object":"list","data":[)";
  for (std::size_t i = 0; i < texts.vectors.size(); ++i) {
    if (i > 0) out += ',';
    out += R"({"object":"embedding","index":)" + std::to_string(i) + R"(,"embedding":)";
    AppendVector(texts.vectors[i], texts.base64, out);
    out += '}';
  }
  const boost::json::object usage = {{"prompt_tokens", texts.n_tokens},
                                     {"total_tokens", texts.n_tokens}};
  return out + "],\"model\":" + boost::json::serialize(boost::json::value(texts.model->id)) +
         ",\"usage\":" + boost::json::serialize(usage) + "}";
}

}  // namespace lattice::server
