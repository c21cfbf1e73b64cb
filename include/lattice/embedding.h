#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "lattice/result.h"

namespace lattice {

/// What a text is for. Models that were trained with prompts get theirs ("query: ", ...).
enum class Role : std::uint8_t { kNone, kQuery, kPassage };

enum class Pooling : std::uint8_t { kCls, kMean, kLast, kMax, kMeanSqrtLength, kWeightedMean };

/// Arithmetic of the linear layers: see docs/precision.md for speed and exactness of each.
enum class ComputePrecision : std::uint8_t { kF32, kBf16, kInt8 };

struct EmbedRequest {
  /// Folder, alias ("all-minilm-l6-v2") or hub id ("BAAI/bge-small-en-v1.5"). Empty: the default
  /// model.
  std::string model;
  Role role = Role::kNone;
  std::optional<std::string> prompt;  ///< Put before each text instead of the role's prompt.
  std::size_t dimensions = 0;         ///< Keep the first N, before normalising; 0 = all of them.
  std::optional<Pooling> pooling;     ///< Instead of what the model's files say.
  std::optional<bool> normalize;      ///< Unit length; default: what the model's files say.
  bool special_as_text = false;       ///< "[SEP]" in a text is five characters, not a token.
  /// Looked at between batches: kCancelled. A download that others may wait for, too, goes on: see
  /// EmbeddingServiceOptions::stop.
  std::stop_token stop;
  /// Called as texts are finished, from the calling thread.
  std::function<void(std::size_t done, std::size_t total)> progress;
};

/// What became of one text.
struct TextUsage {
  std::size_t n_tokens = 0;              ///< Read by the model, special tokens and prompt included.
  std::size_t n_tokens_untruncated = 0;  ///< What the whole text has.
  bool truncated() const { return n_tokens_untruncated > n_tokens; }
};

struct Embeddings {
  std::size_t dimensions = 0;
  std::vector<float> values;     ///< [n_texts, dimensions], row-major, in input order; all finite.
  std::vector<TextUsage> usage;  ///< [n_texts]

  std::size_t size() const { return usage.size(); }
  std::span<const float> operator[](std::size_t i) const {
    return std::span(values).subspan(i * dimensions, dimensions);
  }
};

struct EmbeddingModelInfo {
  std::string name;          ///< As the service knows it.
  std::string revision;      ///< Of the files: the hub's, or a digest where a folder says none.
  std::string architecture;  ///< "bert", "xlm-roberta", "modernbert", "qwen3", "gemma3_text".
  std::filesystem::path folder;
  std::size_t dimensions = 0;
  std::size_t max_tokens = 0;
  Pooling pooling = Pooling::kMean;
  bool normalize = true;
  std::string query_prompt, passage_prompt;
  /// What the model was trained for: "cosine", "dot", "euclidean", "manhattan".
  std::string similarity;
  std::size_t n_parameters = 0;
};

struct RerankRequest {
  std::string model;
  std::string query;
  std::string instruction;     ///< For models that take one (Qwen3-Reranker); empty: their default.
  std::size_t max_tokens = 0;  ///< Of a pair; 0 = the model's limit.
  std::stop_token stop;
};

struct RerankScore {
  float score = 0;  ///< After the model's own activation.
  float logit = 0;  ///< Before it.
  TextUsage usage;
};

/// Turns texts into vectors. Thread-safe. A model is found and loaded on its first use; a failed
/// load is tried again on the next. A vector's bits do not depend on the other texts of the call,
/// on their order, or on the number of threads.
///
/// Errors  kNotFound (no such model), kCorruptData (a file of the model), kUnsupported (an
///         architecture, a pooling, a role without meaning), kInvalidArgument (dimensions),
///         kCancelled.
class EmbeddingService {
 public:
  virtual ~EmbeddingService() = default;

  virtual Result<Embeddings> Embed(std::span<const std::string> texts,
                                   const EmbedRequest& request) = 0;
  /// Loads the model if it is not loaded yet.
  virtual Result<EmbeddingModelInfo> Describe(std::string_view model) = 0;
  /// Scores each document against request.query, in input order. The model must be a cross-encoder
  /// or a reranking decoder.
  virtual Result<std::vector<RerankScore>> Rerank(std::span<const std::string> documents,
                                                  const RerankRequest& request) = 0;
  /// Frees a loaded model once its running calls end; false when it was not loaded.
  virtual bool Unload(std::string_view model) = 0;

  /// One text, with the default options for `model`.
  Result<std::vector<float>> EmbedOne(std::string_view text, std::string_view model = {});
};

struct EmbeddingServiceOptions {
  std::filesystem::path model_cache;  ///< Where pulled models live; empty: ~/.lattice/models.
  std::size_t n_threads = 0;          ///< 0 = the processors this process may use.
  ComputePrecision precision = ComputePrecision::kF32;
  /// Tokens computed at once: bounds memory whatever the input.
  std::size_t max_batch_tokens = 0;  ///< 0 = a default that fits the processor's caches.
  std::string instruction_set;       ///< "avx2", ...: pins the kernels; empty: the best here.
  bool offline = false;              ///< Never fetch a model that is missing.
  std::string hub_endpoint;          ///< Empty: the public hub.
  std::string hub_token;             ///< Sent to hub_endpoint's host only.
  std::stop_token stop;              ///< Ends the download of a missing model: kCancelled.
  /// Remarks and download progress; may be empty.
  std::function<void(std::string_view message)> log;
  std::function<void(std::string_view what, std::size_t done, std::size_t total)> progress;
};

Result<std::unique_ptr<EmbeddingService>> MakeEmbeddingService(
    EmbeddingServiceOptions options = {});

struct EmbeddingCacheOptions {
  std::size_t budget_bytes = std::size_t{256} << 20;
  std::size_t n_shards = 16;
};

struct EmbeddingCacheStats {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;     ///< Texts computed.
  std::uint64_t coalesced = 0;  ///< Texts that waited for, or shared, another one's computation.
  std::uint64_t evictions = 0;
  std::size_t entries = 0;
  std::size_t bytes = 0;
};

/// An EmbeddingService that remembers vectors: least recently used first out, within a byte budget.
/// Keys are SHA-256 over text, model, revision and every option that changes the vector. The same
/// text asked for twice at once, in one call or in two, is computed once.
class CachedEmbeddingService : public EmbeddingService {
 public:
  virtual EmbeddingCacheStats stats() const = 0;
  virtual void Clear() = 0;
};

std::unique_ptr<CachedEmbeddingService> MakeCachedEmbeddingService(
    std::unique_ptr<EmbeddingService> service, EmbeddingCacheOptions options = {});

}  // namespace lattice
