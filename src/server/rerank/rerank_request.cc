#include "server/rerank/rerank_request.h"

#include <boost/json/array.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "server/openai/field_reader.h"

namespace lattice::server {
namespace {

constexpr std::size_t kMaxDocuments = 2048;

constexpr std::string_view kNames[] = {"model",       "query",    "documents",       "top_n",
                                       "instruction", "truncate", "return_documents"};
constexpr std::string_view kTeiNames[] = {"model",       "query",    "texts",      "raw_scores",
                                          "return_text", "truncate", "instruction"};

/// A text, or {"text": ...}.
std::optional<std::string> TextOf(const boost::json::value& document) {
  const boost::json::value* text = &document;
  if (const auto* object = document.if_object()) text = object->if_contains("text");
  if (text == nullptr || !text->is_string()) return std::nullopt;
  return std::string(text->get_string());
}

std::vector<std::string> ReadDocuments(FieldReader& reader, const char* key) {
  std::vector<std::string> documents;
  const boost::json::value* list = reader.Find(key);
  if (list == nullptr || !list->is_array() || list->get_array().empty() ||
      list->get_array().size() > kMaxDocuments) {
    reader.Complain(key, "must be an array of 1 to " + std::to_string(kMaxDocuments) + " texts");
    return documents;
  }
  for (const boost::json::value& item : list->get_array()) {
    auto text = TextOf(item);
    if (!text) {
      reader.Complain(key, "must hold texts, or objects with a \"text\"", "invalid_type");
      return documents;
    }
    documents.push_back(*std::move(text));
  }
  return documents;
}

}  // namespace

ApiResult<RerankBody> ReadRerankBody(const boost::json::object& body, RerankDialect dialect) {
  FieldReader reader(body);
  RerankBody request;
  const bool tei = reader.Find("texts") != nullptr && reader.Find("documents") == nullptr;
  request.dialect = tei ? RerankDialect::kTextEmbeddingsInference : dialect;
  request.query = reader.String("query").value_or("");
  if (request.query.empty()) reader.Complain("query", "must be a text that is not empty");
  request.instruction = reader.String("instruction").value_or("");
  request.documents = ReadDocuments(reader, tei ? "texts" : "documents");
  if (tei) {
    request.raw_scores = reader.Bool("raw_scores").value_or(false);
    request.return_documents = reader.Bool("return_text").value_or(false);
    request.truncate = reader.Bool("truncate").value_or(false);
    const auto direction = reader.String("truncation_direction");
    if (direction && *direction != "right" && *direction != "Right") {
      reader.Complain("truncation_direction", "may only be \"right\"", "unsupported_parameter");
    }
    constexpr std::string_view kDirection[] = {"truncation_direction"};
    reader.RefuseOthers({kTeiNames, kDirection});
  } else {
    // A number below 1 asks for nothing, one above the documents' for all.
    request.top_n =
        static_cast<std::size_t>(reader.Int("top_n", 1, std::int64_t{1} << 53).value_or(0));
    request.return_documents =
        reader.Bool("return_documents").value_or(dialect != RerankDialect::kCohere);
    request.truncate = reader.Bool("truncate").value_or(true);
    reader.RefuseOthers({kNames});
  }
  if (!reader.ok()) return reader.error();
  return request;
}

}  // namespace lattice::server
