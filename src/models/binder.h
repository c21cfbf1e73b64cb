#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "kernels/api/backend.h"
#include "lattice/result.h"
#include "models/model.h"
#include "weights/checkpoint.h"
#include "weights/quantise_policy.h"

namespace lattice::models {

/// How a file's tensors differ from the layout of the Hugging Face classes, for which the families
/// are written.
struct FileLayout {
  /// The file's name of a tensor; null: the same.
  std::function<std::string(std::string_view)> rename;
  /// Gains that the classes keep as w and use as 1 + w are stored as 1 + w.
  bool finished_norms = false;
  /// Query and key rows of a head lie pair by pair (0, d/2, 1, d/2 + 1, ...) instead of by halves.
  bool paired_rotary_rows = false;
  /// Decays are stored as -exp(A_log).
  bool finished_decays = false;
  kernels::KeyHeadOrder value_heads = kernels::KeyHeadOrder::kBlocked;
};

/// What a family is loaded from.
struct ModelSource {
  JsonView config;  ///< The whole config.json.
  std::shared_ptr<const weights::Checkpoint> checkpoint;
  kernels::Backend* backend = nullptr;
  kernels::Precision precision = kernels::Precision::kF32;
  /// Linear layers compute with the weights as they are stored (Backend::MakeStoredLinear).
  bool stored = false;
  /// Of stored weights that the backend lays out anew. The model keeps it alive.
  std::shared_ptr<kernels::WeightMemory> memory;
  FileLayout layout;
  std::string fingerprint = {};  ///< See StateShape.
  /// What float weights are quantised to; absent: they stay as they are stored.
  std::optional<weights::QuantisePolicy> quantise = {};
};

enum class Bias : std::uint8_t { kNone, kRequired };

/// One matrix of a stacked linear layer: tensors NAME.weight [outputs, inputs] and NAME.bias.
struct LinearPart {
  std::string name;
  std::size_t outputs = 0;
  /// See kernels::HostTensor. Not with a bias.
  std::span<const std::uint32_t> row_order = {};
};

/// Takes tensors of a checkpoint by name and hands them to the backend. Every shape and dtype is
/// proved here: kNotFound (name and expected shape), kCorruptData (both shapes), kUnsupported
/// (dtype).
class Binder {
 public:
  /// Names given to the other functions stand behind the first of `prefixes` under which the
  /// checkpoint has `tensor`. kNotFound when there is none.
  static Result<Binder> Make(const ModelSource& source, std::span<const std::string_view> prefixes,
                             std::string_view tensor);

  /// A Binder for names of the same file that have no prefix, or another one.
  Binder WithoutPrefix() const { return WithPrefix(""); }
  Binder WithPrefix(std::string prefix) const {
    return Binder(*source_, std::move(prefix), precision_);
  }
  /// A Binder whose linear layers compute in f32: for heads, which are small and decide much.
  Binder InFullPrecision() const { return Binder(*source_, prefix_, kernels::Precision::kF32); }

  bool Has(std::string_view name) const;
  /// Empty when there is no such tensor.
  std::span<const std::size_t> Shape(std::string_view name) const;
  const FileLayout& layout() const { return source_->layout; }
  const std::string& prefix() const { return prefix_; }
  kernels::Precision precision() const { return precision_; }

  /// [n] values, `added` to each.
  Result<std::unique_ptr<kernels::Vector>> Vector(std::string_view name, std::size_t n,
                                                  float added = 0.0f) const;
  /// The gain of a norm, 1 + w unless the file has done that sum.
  Result<std::unique_ptr<kernels::Vector>> OnePlusGain(std::string_view name, std::size_t n) const {
    return Vector(name, n, layout().finished_norms ? 0.0f : 1.0f);
  }
  /// All values of a small tensor, which must have one of `shapes`.
  Result<std::vector<float>> Values(std::string_view name,
                                    std::initializer_list<std::vector<std::size_t>> shapes) const;

  /// Unless the weights stay where they are, lets go of the file's pages afterwards: the backend
  /// has its own copy.
  Result<std::unique_ptr<kernels::LinearWeights>> Linear(std::span<const LinearPart> parts,
                                                         std::size_t inputs, Bias bias) const;
  Result<std::unique_ptr<kernels::LinearWeights>> Linear(std::initializer_list<LinearPart> parts,
                                                         std::size_t inputs, Bias bias) const {
    return Linear(std::span(parts.begin(), parts.size()), inputs, bias);
  }
  /// Rows [first, first + n) of the one matrix `name` [rows, cols], without bias.
  Result<std::unique_ptr<kernels::LinearWeights>> LinearRows(std::string_view name,
                                                             std::size_t rows, std::size_t cols,
                                                             std::size_t first,
                                                             std::size_t n) const;
  /// The tensor `name`, [1, cols] or [cols], as a layer of one output.
  Result<std::unique_ptr<kernels::LinearWeights>> Row(std::string_view name,
                                                      std::size_t cols) const;
  /// Prepares one matrix, copied or as it is stored; `name` is for errors.
  Result<std::unique_ptr<kernels::LinearWeights>> Prepare(std::string_view name,
                                                          const kernels::HostTensor& matrix) const;
  /// The checkpoint must live as long as the table.
  Result<std::unique_ptr<kernels::Table>> Table(std::string_view name, std::size_t rows,
                                                std::size_t cols) const;
  /// A matrix as it lies in the file.
  Result<kernels::HostTensor> Matrix(std::string_view name, std::size_t rows,
                                     std::size_t cols) const;
  /// The n matrices [rows, cols] of one tensor [n, rows, cols].
  Result<std::vector<kernels::HostTensor>> Matrices(std::string_view name, std::size_t n,
                                                    std::size_t rows, std::size_t cols) const;
  Result<std::unique_ptr<kernels::ExpertWeights>> Experts(
      std::span<const kernels::ExpertTensors> experts) const;
  std::unique_ptr<kernels::Vector> MakeVector(std::span<const float> values) const {
    return source_->backend->MakeVector(values);
  }

 private:
  Binder(const ModelSource& source, std::string prefix, kernels::Precision precision)
      : source_(&source), prefix_(std::move(prefix)), precision_(precision) {}
  std::string FileName(std::string_view name) const;
  Result<std::unique_ptr<kernels::LinearWeights>> Make(
      std::span<const kernels::HostTensor> matrices,
      std::span<const kernels::HostTensor> biases) const;
  void ReleaseCopied(const kernels::HostTensor& matrix) const;
  Result<std::optional<Dtype>> StoredAs(std::string_view name,
                                        const weights::TensorView& tensor) const;
  Result<weights::TensorView> Take(std::string_view name, std::span<const std::size_t> shape) const;

  const ModelSource* source_;
  std::string prefix_;
  kernels::Precision precision_;
};

}  // namespace lattice::models
