#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lattice/embedding.h"
#include "lattice/result.h"

namespace lattice::apps {

enum class VectorFormat : std::uint8_t { kJson, kJsonl, kNpy, kTable };

/// "json", "jsonl", "npy" or "table".
Result<VectorFormat> ParseVectorFormat(std::string_view name);
std::vector<std::string> VectorFormatNames();

/// Writes embeddings as they come. The formats:
///   json   {"model", "dimensions", "embeddings": [[...]], "usage": [{"n_tokens", "truncated"}]}
///   jsonl  {"index", "embedding", "n_tokens", "truncated"} a line
///   npy    NumPy format 1.0, float32 [n_texts, dimensions]
///   table  cosines of all pairs, for people
/// A named file appears when Finish succeeds, whole or not at all.
class VectorOutput {
 public:
  virtual ~VectorOutput() = default;
  /// `texts` are those of `embeddings`, in order.
  virtual Status Append(const std::vector<std::string>& texts, const Embeddings& embeddings) = 0;
  virtual Status Finish() = 0;
};

/// `file` empty: standard output.
Result<std::unique_ptr<VectorOutput>> OpenVectorOutput(VectorFormat format, const std::string& file,
                                                       const EmbeddingModelInfo& model,
                                                       std::size_t dimensions);

}  // namespace lattice::apps
