#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/command.h"
#include "apps/embedding_flags.h"
#include "lattice/npy_rows.h"
#include "lattice/result.h"

namespace lattice::apps {

/// Vectors that a command works on, row-major: its own, or those of a mapped NumPy file.
struct VectorSet {
  std::optional<NpyRows> file;
  std::vector<float> own;
  std::span<const float> values;
  std::size_t dims = 0;
  std::vector<std::string> texts = {};  ///< Of each row, where the file tells all.
  std::size_t size() const { return dims == 0 ? 0 : values.size() / dims; }
};

/// The vectors that the model of `flags` makes of texts.
Result<VectorSet> EmbedTexts(EmbeddingService& service, const EmbeddingFlags& flags,
                             std::span<const std::string> texts, Role role,
                             const AppContext& context);

/// Reads `file`: f32 of a NumPy file (.npy, or any with `is_npy`), else texts (a line each, or
/// .jsonl), which the model of `flags` turns into vectors; `service` is opened for the first.
Result<VectorSet> ReadVectorSet(const std::string& file, bool is_npy, const EmbeddingFlags& flags,
                                const AppContext& context,
                                std::unique_ptr<EmbeddingService>& service);

/// Reads vectors that were made before: f32 of a NumPy file, else lines of JSON as ParseVectorLine
/// takes them, at most 4 GiB. kCorruptData names the line; there is at least one row.
Result<VectorSet> ReadStoredVectors(const std::string& file);

/// A vector from a line of JSON: an array of numbers, or an object with one as "embedding".
Result<std::vector<float>> ParseVectorLine(std::string_view line, const std::string& where);

}  // namespace lattice::apps
