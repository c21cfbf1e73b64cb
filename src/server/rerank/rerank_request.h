#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "server/http/api_error.h"

namespace lattice::server {

/// The answer's shape. Jina's is vLLM's and llama.cpp's, too.
enum class RerankDialect { kJina, kCohere, kTextEmbeddingsInference };

/// A query and what is to be ranked by it.
struct RerankBody {
  RerankDialect dialect = RerankDialect::kJina;
  std::string query;
  std::vector<std::string> documents;
  std::size_t top_n = 0;         ///< How many are told, at most; 0: all.
  std::string instruction;       ///< For models that take one.
  bool return_documents = true;  ///< With their texts.
  bool raw_scores = false;       ///< Before the activation.
  bool truncate = true;          ///< Else a pair that is too long is an error.
};

/// Checks every field; 400 names it. A body with "texts" is one of Text Embeddings Inference,
/// whatever `dialect` says: it shares its path with Jina's.
ApiResult<RerankBody> ReadRerankBody(const boost::json::object& body, RerankDialect dialect);

}  // namespace lattice::server
