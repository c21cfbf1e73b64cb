#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/log.h"
#include "base/token_id.h"
#include "kernels/api/backend.h"
#include "lattice/result.h"
#include "models/sequence.h"

namespace lattice::models {

/// Rows [begin, end) of a batch that belong to one text, in order.
struct SequenceRows {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// Packed rows of many texts, no padding. All spans are borrowed for the call.
struct Batch {
  std::span<const TokenId> ids;             ///< [n_rows]
  std::span<const std::uint8_t> type_ids;   ///< [n_rows] segment of each row, or empty: all 0.
  std::span<const SequenceRows> sequences;  ///< Cover the rows in order, none empty.
  /// Rows whose result is wanted, rising. Empty: all rows.
  std::span<const std::uint32_t> output_rows;
  /// [n sequences] what was read before and takes these rows up, each reserved for them, none
  /// twice; or empty: every text stands alone and nothing is kept.
  std::span<Sequence* const> states = {};
};

/// What a model's rows mean to its caller.
struct ModelInfo {
  std::string architecture;  ///< model_type of its config: "bert", "qwen3", ...
  std::size_t vocab = 0;
  std::size_t hidden = 0;
  std::size_t n_layers = 0;
  std::size_t max_tokens = 0;  ///< Longest text that its positions allow, special tokens included.
  std::size_t n_labels = 0;    ///< Scores of a classification head; 0 = there is none.
  bool causal = false;
  bool has_lm_head = false;  ///< Gives next-token logits.
  bool needs_state = false;  ///< Forward takes batches with states only.
};

struct RowPlan;

/// What one forward pass at a time needs besides the weights, reused from call to call. Made by the
/// model's owner for each thread of control; grows with the largest batch, then allocates no more.
class Workspace {
 public:
  explicit Workspace(kernels::Backend& backend);
  ~Workspace();
  Workspace(Workspace&&) noexcept;
  Workspace& operator=(Workspace&&) noexcept;

  /// The i-th buffer; the same one each time.
  kernels::Buffer& operator[](std::size_t i);
  /// Lists of rows, positions and spans that a pass is planned with.
  RowPlan& plan() { return *plan_; }

 private:
  kernels::Backend* backend_;
  std::vector<std::unique_ptr<kernels::Buffer>> buffers_;
  std::unique_ptr<RowPlan> plan_;
};

/// Sees the hidden states [n_rows, hidden]: layer 0 is what the first layer reads, layer n_layers
/// what the head or the pooling reads (after the final norm).
using HiddenTap = FunctionRef<void(std::size_t layer, const kernels::Buffer& hidden)>;

/// A transformer with its weights bound to a backend. Immutable: any number of callers may share
/// it, each with its own Workspace.
class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelInfo& info() const = 0;

  /// What a Sequence of this model keeps; no layers when the model reads whole texts only.
  virtual const StateShape& state_shape() const;

  /// Final hidden states of batch.output_rows, [n_outputs, hidden]. The buffer belongs to
  /// `workspace` and holds until its next use. With a tap, every layer is computed for all rows.
  /// Preconditions: ids below info().vocab, type ids below the model's number of segments (models
  /// with one or none ignore them), texts no longer than info().max_tokens with what their states
  /// have read. States are of this model, and have read the rows afterwards.
  virtual const kernels::Buffer& Forward(const Batch& batch, Workspace& workspace,
                                         const HiddenTap* tap = nullptr) const = 0;

  /// Scores [n_sequences, n_labels] of the classification head; batch.output_rows is not looked at.
  /// Only when info().n_labels > 0: aborts otherwise.
  virtual const kernels::Buffer& Classify(const Batch& batch, Workspace& workspace) const;

  /// Next-token logits [hidden.rows, n] of rows that Forward gave, for the vocabulary entries
  /// `ids`, or for all of them when `ids` is empty. Only when info().has_lm_head: aborts otherwise.
  virtual const kernels::Buffer& Logits(const kernels::Buffer& hidden, std::span<const TokenId> ids,
                                        Workspace& workspace) const;
};

/// What a model is for decides how its weights are kept.
enum class Purpose : std::uint8_t {
  /// Linear layers compute with the weights where they lie in the mapped file: nothing is copied or
  /// widened. A decoder's Forward is made for batches with states.
  kGenerate,
  /// Linear layers are packed for whole texts; the file's pages are let go.
  kEmbed,
};

struct LoadOptions {
  Purpose purpose = Purpose::kGenerate;
  /// Absent: as the weights are stored. Generators then compute as kernels::Precision::kInt8 says
  /// for stored weights (integers with blocks, bf16 with bf16, else f32), small ones as kInt16
  /// does (see StoredPrecision), others in f32.
  std::optional<kernels::Precision> precision = {};
  /// A block format that a generator's float weights are quantised to while they are packed, each
  /// tensor to what weights::ChooseQuantisedType makes of it, as in a file that `lattice quantize`
  /// writes; tensors whose rows are not whole blocks stay as they are. kInvalidArgument for weights
  /// that are quantised to something else already.
  std::optional<Dtype> weights = {};
  /// Folder of packed weights (WeightCache) of a generator; empty: every start packs them.
  std::filesystem::path weight_cache = {};
  /// Told, once a load, of parts that stay unread.
  LogSink log = {};
};

class ModelFiles;

/// Binds a model to `backend`, which must outlive it. Every shape and dtype is proved here.
Result<std::shared_ptr<const Model>> LoadModel(const ModelFiles& files, kernels::Backend& backend,
                                               const LoadOptions& options);

/// The same from a folder with config.json and weights, or a .gguf file (the first one of several).
/// An unknown model_type is kUnsupported and lists the known ones.
Result<std::shared_ptr<const Model>> LoadModel(const std::filesystem::path& path,
                                               kernels::Backend& backend,
                                               const LoadOptions& options);

/// The same for whole texts: Purpose::kEmbed.
Result<std::shared_ptr<const Model>> LoadModel(const std::filesystem::path& path,
                                               kernels::Backend& backend,
                                               kernels::Precision precision);

}  // namespace lattice::models
