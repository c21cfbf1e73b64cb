#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/api/backend.h"
#include "lattice/embedding.h"
#include "lattice/result.h"

namespace lattice::embed {

/// How rows become one vector. Several modes are concatenated in this order.
struct PoolingSpec {
  std::vector<Pooling> modes = {Pooling::kMean};
  bool include_prompt = true;  ///< False: the prompt's tokens are left out of the pool.
  std::size_t hidden = 0;      ///< Width that the file states; 0 = it does not.
};

/// A linear layer after the pooling; its weights lie in `folder`/model.safetensors.
struct DenseSpec {
  std::filesystem::path folder;
  std::size_t in_features = 0;
  std::size_t out_features = 0;
  bool bias = true;
  kernels::Activation activation = kernels::Activation::kTanh;
};

struct NormalizeSpec {};

using PipelineStep = std::variant<DenseSpec, NormalizeSpec>;

/// Texts that a model wants in front of others, by name.
struct Prompts {
  std::map<std::string, std::string, std::less<>> by_name;
  std::string default_name;           ///< Empty: none.
  std::string similarity = "cosine";  ///< "cosine", "dot", "euclidean" or "manhattan".

  /// query: "query"; passage: the first of "document", "passage", "corpus"; else the default one;
  /// else "".
  std::string_view ForRole(Role role) const;
};

/// Everything about a sentence-transformers folder but the transformer itself.
struct PipelineConfig {
  std::filesystem::path transformer;  ///< Folder of config.json, weights and tokenizer.
  PoolingSpec pooling;
  std::vector<PipelineStep> steps;  ///< After the pooling, in order.
  Prompts prompts;
  /// Longest text in tokens: max_seq_length, else the tokenizer's model_max_length; 0 = neither
  /// says. The model's own positions limit it further.
  std::size_t max_tokens = 0;
  bool lower_case = false;
  std::string append_token;  ///< Must end every text; empty: what the tokenizer does is right.
  bool is_reranker = false;  ///< modules.json ends in a score, not in a vector.
  bool from_files = false;   ///< There is a modules.json.
};

// Parsers of single files. `where` names the file in complaints. kCorruptData for wrong types and
// numbers; kUnsupported for a module, pooling or activation that is not known, with those that are.

struct ModuleEntry {
  std::string kind;  ///< "Transformer", "Pooling", "Dense", "Normalize" or "LogitScore".
  std::string path;  ///< Relative to the model's folder, inside it; "" = the folder itself.
};

/// modules.json, in the order of idx.
Result<std::vector<ModuleEntry>> ParseModules(std::string_view text, const std::string& where);

/// N_Pooling/config.json.
Result<PoolingSpec> ParsePooling(std::string_view text, const std::string& where);

/// N_Dense/config.json; `folder` is left empty.
Result<DenseSpec> ParseDense(std::string_view text, const std::string& where);

/// sentence_bert_config.json and kin. max_tokens 0 = not set.
struct TransformerSettings {
  std::size_t max_tokens = 0;
  bool lower_case = false;
};
Result<TransformerSettings> ParseTransformerSettings(std::string_view text,
                                                     const std::string& where);

/// config_sentence_transformers.json.
Result<Prompts> ParsePrompts(std::string_view text, const std::string& where);

/// Reads the files of `folder`. What they lack comes from the table of known models, found by one
/// of `names` (hub id, alias, folder). Without modules.json and unknown: mean pooling (last token
/// for the decoder "qwen3"), not normalised. Source  sentence-transformers,
/// SentenceTransformer._load_auto_model and modules.
Result<PipelineConfig> ReadPipelineConfig(const std::filesystem::path& folder,
                                          const std::vector<std::string>& names);

}  // namespace lattice::embed
