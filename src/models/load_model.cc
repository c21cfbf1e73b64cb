#include <string>

#include "models/config.h"
#include "models/families.h"
#include "models/fingerprint.h"
#include "models/model_files.h"
#include "models/packed_weights.h"
#include "models/stored_precision.h"

namespace lattice::models {
namespace {

constexpr Family kFamilies[] = {
    {"bert", DescribeBert, LoadBert},
    {"roberta", DescribeBert, LoadBert},
    {"xlm-roberta", DescribeBert, LoadBert},
    {"camembert", DescribeBert, LoadBert},
    {"modernbert", DescribeModernBert, LoadModernBert},
    {"llama", DescribeDecoder, LoadDecoder},
    {"mistral", DescribeDecoder, LoadDecoder},
    {"mistral3", DescribeDecoder, LoadDecoder},
    {"qwen2", DescribeDecoder, LoadDecoder},
    {"qwen3", DescribeDecoder, LoadDecoder},
    {"qwen3_moe", DescribeDecoder, LoadDecoder},
    {"smollm3", DescribeDecoder, LoadDecoder},
    {"gemma2", DescribeDecoder, LoadDecoder},
    {"gemma3_text", DescribeDecoder, LoadDecoder},
    {"gemma3", DescribeDecoder, LoadDecoder},
    {"gemma4_text", DescribeGemma4, LoadGemma4},
    {"gemma4", DescribeGemma4, LoadGemma4},
    {"qwen3_5", DescribeQwen35, LoadQwen35},
    {"qwen3_5_text", DescribeQwen35, LoadQwen35},
    {"qwen3_5_moe", DescribeQwen35, LoadQwen35},
    {"qwen3_5_moe_text", DescribeQwen35, LoadQwen35},
    {"qwen3_next", DescribeQwen35, LoadQwen35},
};

}  // namespace

std::span<const Family> Families() { return kFamilies; }

Result<const Family*> FindFamily(const JsonView& config) {
  LATTICE_TRY(const JsonView type, config.Get("model_type"));
  LATTICE_TRY(const std::string_view name, type.String());
  std::string known;
  for (const Family& family : kFamilies) {
    if (family.model_type == name) return &family;
    known += (known.empty() ? "" : ", ") + std::string(family.model_type);
  }
  return Error{ErrorCode::kUnsupported, type.where() + ": unknown architecture '" +
                                            std::string(name) + "'; known: " + known};
}

/// As `lattice quantize` finds the same of a file.
weights::QuantisePolicy PolicyOf(const ModelFiles& files, Dtype type) {
  weights::QuantisePolicy policy{.type = type, .tied_output = true};
  policy.n_blocks = files.description().info.n_layers;
  for (const auto& [name, tensor] : files.checkpoint()->tensors()) {
    if (name == "output.weight" || name.ends_with("lm_head.weight")) policy.tied_output = false;
  }
  // Of a GGUF file, blocks behind the layers count too.
  const weights::GgufMetadata* gguf = files.checkpoint()->gguf();
  if (gguf == nullptr) return policy;
  const auto architecture = gguf->GetString("general.architecture");
  if (!architecture) return policy;
  const auto n_blocks = gguf->GetUint(std::string(*architecture) + ".block_count");
  if (n_blocks) policy.n_blocks = *n_blocks;
  return policy;
}

ModelSource SourceOf(const ModelFiles& files, kernels::Backend& backend,
                     const LoadOptions& options) {
  // What keeps no state reads whole texts, whatever it is loaded for.
  const bool generates = !files.description().state.layers.empty();
  const bool stored = generates && options.purpose == Purpose::kGenerate;
  const kernels::Precision as_stored =
      stored ? StoredPrecision(*files.checkpoint()) : kernels::Precision::kF32;
  ModelSource source{.config = files.config(),
                     .checkpoint = files.checkpoint(),
                     .backend = &backend,
                     .precision = options.precision.value_or(as_stored),
                     .stored = stored,
                     .memory = {},
                     .layout = files.layout()};
  if (!stored) return source;
  if (options.weights) source.quantise = PolicyOf(files, *options.weights);
  source.fingerprint =
      Fingerprint(source.config, *source.checkpoint, source.precision, options.weights);
  return source;
}

void TellOfUnreadParts(const ModelFiles& files, const LogSink& log) {
  if (!log) return;
  for (const std::string& part : UnreadParts(files.config())) {
    log(LogLevel::kInfo, files.path().string() + ": its " + part + " part is not used, only text");
  }
}

Result<std::shared_ptr<const Model>> LoadModel(const ModelFiles& files, kernels::Backend& backend,
                                               const LoadOptions& options) {
  const ModelInfo& info = files.description().info;
  if (info.needs_state && options.purpose == Purpose::kEmbed) {
    return Error{ErrorCode::kUnsupported, files.path().string() + ": a " + info.architecture +
                                              " model does not read whole texts"};
  }
  ModelSource source = SourceOf(files, backend, options);
  const std::shared_ptr<WeightFile> memory = OpenPacked(source, options.weight_cache);
  source.memory = memory;
  auto model = files.family().load(source);
  if (!model) return std::move(model).error().Within(files.path().string());
  memory->Finish();
  TellOfUnreadParts(files, options.log);
  return model;
}

Result<std::shared_ptr<const Model>> LoadModel(const std::filesystem::path& path,
                                               kernels::Backend& backend,
                                               const LoadOptions& options) {
  LATTICE_TRY(const auto files, ModelFiles::Open(path));
  return LoadModel(*files, backend, options);
}

Result<std::shared_ptr<const Model>> LoadModel(const std::filesystem::path& path,
                                               kernels::Backend& backend,
                                               kernels::Precision precision) {
  return LoadModel(path, backend, {.purpose = Purpose::kEmbed, .precision = precision});
}

}  // namespace lattice::models
