#include "apps/command_forward.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/embedding_flags.h"
#include "apps/text_engine.h"
#include "apps/token_ids.h"
#include "base/thread_pool.h"
#include "hub/hub.h"
#include "models/model.h"
#include "weights/safetensors_writer.h"

namespace lattice::apps {
namespace {

struct Arguments {
  EmbeddingFlags model;
  std::string ids;
  std::string type_ids;
  bool hidden = false;
  std::string output;
};

struct NamedMatrix {
  std::string name;
  std::vector<std::size_t> shape;
  std::vector<float> values;
};

Status CheckIds(const std::vector<TokenId>& ids, const models::ModelInfo& info) {
  if (ids.empty()) return Error{ErrorCode::kInvalidArgument, "--ids is empty"};
  if (ids.size() > info.max_tokens) {
    return Error{ErrorCode::kInvalidArgument, std::to_string(ids.size()) +
                                                  " ids, but the model reads at most " +
                                                  std::to_string(info.max_tokens)};
  }
  for (const TokenId id : ids) {
    if (id < 0 || static_cast<std::size_t>(id) >= info.vocab) {
      return Error{ErrorCode::kInvalidArgument, "id " + std::to_string(id) +
                                                    " is outside the vocabulary of " +
                                                    std::to_string(info.vocab)};
    }
  }
  return Ok();
}

Result<std::vector<std::uint8_t>> Segments(std::string_view text, std::size_t n_ids) {
  LATTICE_TRY(const std::vector<TokenId> values, ParseIds(text));
  if (!values.empty() && values.size() != n_ids) {
    return Error{ErrorCode::kInvalidArgument, "--type-ids has " + std::to_string(values.size()) +
                                                  " numbers for " + std::to_string(n_ids) + " ids"};
  }
  std::vector<std::uint8_t> segments;
  for (const TokenId value : values) {
    if (value != 0 && value != 1) {
      return Error{ErrorCode::kInvalidArgument, "--type-ids: each must be 0 or 1"};
    }
    segments.push_back(static_cast<std::uint8_t>(value));
  }
  return segments;
}

NamedMatrix ReadMatrix(std::string name, const kernels::Buffer& buffer, kernels::Backend& backend) {
  NamedMatrix matrix{std::move(name), {buffer.rows(), buffer.cols()}, {}};
  matrix.values.resize(buffer.rows() * buffer.cols());
  backend.Read(buffer, matrix.values);
  return matrix;
}

/// No number that is not finite leaves the engine; the first matrix that has one says where it
/// arose.
Status CheckFinite(const std::vector<NamedMatrix>& matrices) {
  for (const NamedMatrix& matrix : matrices) {
    if (!std::ranges::all_of(matrix.values, [](float x) { return std::isfinite(x); })) {
      return Error{ErrorCode::kCorruptData,
                   "the model gives values in " + matrix.name + " that are not finite"};
    }
  }
  return Ok();
}

Status Write(const std::string& file, const std::vector<NamedMatrix>& matrices) {
  std::vector<weights::TensorSpec> specs;
  for (const NamedMatrix& matrix : matrices) {
    specs.push_back({matrix.name, Dtype::kF32, matrix.shape});
  }
  LATTICE_TRY(auto writer, weights::SafetensorsWriter::Create(file, std::move(specs)));
  for (const NamedMatrix& matrix : matrices) LATTICE_TRY_VOID(writer.Append(matrix.values));
  return writer.Finish();
}

/// One text, read afresh for each pass.
class Reading {
 public:
  Reading(const models::Model& model, const models::Batch& text, kernels::Backend& backend)
      : model_(model), text_(text), backend_(backend), workspace_(backend) {}

  models::Workspace& workspace() { return workspace_; }
  /// The text with a state of its own, for models that keep one.
  Result<models::Batch> Batch() {
    if (model_.state_shape().layers.empty()) return text_;
    LATTICE_TRY(store_, models::SequenceStore::Make(
                            model_.state_shape(), backend_,
                            {.kv_type = kernels::KvType::kF32, .max_tokens = text_.ids.size()}));
    sequence_ = store_->New();
    LATTICE_TRY_VOID(sequence_->Reserve(text_.ids.size()));
    state_ = sequence_.get();
    models::Batch batch = text_;
    batch.states = {&state_, 1};
    return batch;
  }

 private:
  const models::Model& model_;
  models::Batch text_;
  kernels::Backend& backend_;
  models::Workspace workspace_;
  std::shared_ptr<models::SequenceStore> store_;
  std::unique_ptr<models::Sequence> sequence_;
  models::Sequence* state_ = nullptr;
};

Result<std::vector<NamedMatrix>> Compute(const models::Model& model, const models::Batch& text,
                                         bool hidden, kernels::Backend& backend) {
  const models::ModelInfo& info = model.info();
  if (!hidden && !info.has_lm_head && info.n_labels == 0) {
    return Error{ErrorCode::kUnsupported,
                 "a " + info.architecture + " model without a head gives no logits; use --hidden"};
  }
  std::vector<NamedMatrix> matrices;
  Reading reading(model, text, backend);
  models::Workspace& workspace = reading.workspace();
  const auto keep = [&](std::size_t layer, const kernels::Buffer& states) {
    matrices.push_back(ReadMatrix("hidden." + std::to_string(layer), states, backend));
  };
  const models::HiddenTap tap(keep);
  if (hidden || info.has_lm_head) {
    LATTICE_TRY(const models::Batch batch, reading.Batch());
    const kernels::Buffer& last = model.Forward(batch, workspace, hidden ? &tap : nullptr);
    if (info.has_lm_head) {
      matrices.push_back(ReadMatrix("logits", model.Logits(last, {}, workspace), backend));
    }
  }
  if (info.n_labels > 0) {
    LATTICE_TRY(const models::Batch batch, reading.Batch());
    NamedMatrix scores = ReadMatrix("logits", model.Classify(batch, workspace), backend);
    scores.shape = {info.n_labels};
    matrices.push_back(std::move(scores));
  }
  return matrices;
}

Status Forward(const Arguments& arguments, const AppContext& context) {
  LATTICE_TRY(const hub::ResolvedModel resolved,
              hub::Resolve(arguments.model.model, context.Hub()));
  LATTICE_TRY(const ComputePrecision precision, ParsePrecision(arguments.model.precision));
  const std::unique_ptr<ThreadPool> pool = MakePool(arguments.model.threads);
  LATTICE_TRY(const auto backend, MakeBackend(*pool, context));
  LATTICE_TRY(const auto model,
              models::LoadModel(resolved.path, *backend,
                                {.purpose = models::Purpose::kGenerate,
                                 .precision = static_cast<kernels::Precision>(precision),
                                 .log = context.Log()}));
  LATTICE_TRY(const std::vector<TokenId> ids, ParseIds(arguments.ids));
  LATTICE_TRY_VOID(CheckIds(ids, model->info()));
  LATTICE_TRY(const std::vector<std::uint8_t> segments, Segments(arguments.type_ids, ids.size()));
  const models::SequenceRows rows{0, static_cast<std::uint32_t>(ids.size())};
  const models::Batch batch{ids, segments, {&rows, 1}, {}};
  LATTICE_TRY(const std::vector<NamedMatrix> matrices,
              Compute(*model, batch, arguments.hidden, *backend));
  LATTICE_TRY_VOID(CheckFinite(matrices));
  return Write(arguments.output, matrices);
}

}  // namespace

Action DeclareForward(CLI::App& arguments, const AppContext& context) {
  static_assert(static_cast<int>(ComputePrecision::kInt8) ==
                static_cast<int>(kernels::Precision::kInt8));
  const auto parsed = std::make_shared<Arguments>();
  DeclareEmbeddingFlags(arguments, parsed->model);
  AddIds(arguments, "--ids", parsed->ids, "Token ids")->required();
  AddIds(arguments, "--type-ids", parsed->type_ids, "Segment of each id, 0 or 1 (all 0)");
  arguments.add_flag("--hidden", parsed->hidden,
                     "Write hidden.0 (after the embedding) to hidden.L (what the head reads) too");
  arguments.add_option("-o,--output", parsed->output, "The .safetensors file to write")
      ->type_name("FILE")
      ->required();
  arguments.footer(
      "\nRuns the model once on given ids and writes what it computed, to compare with "
      "references:\n"
      "decoders logits [n_tokens, vocab]; cross-encoders logits [n_labels].\n"
      "\nExample:\n"
      "  lattice forward --model FOLDER --ids \"101 7592 102\" --hidden --output out.safetensors");
  return [parsed, &context] { return Forward(*parsed, context); };
}

}  // namespace lattice::apps
