#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "kernels/api/backend.h"
#include "lattice/result.h"
#include "weights/checkpoint.h"

namespace lattice::models {

/// What a family is loaded from.
struct ModelSource {
  JsonView config;  ///< The whole config.json.
  std::shared_ptr<const weights::Checkpoint> checkpoint;
  kernels::Backend* backend = nullptr;
  kernels::Precision precision = kernels::Precision::kF32;
};

enum class Bias : std::uint8_t { kNone, kRequired };

/// One matrix of a stacked linear layer: tensors NAME.weight [outputs, inputs] and NAME.bias.
struct LinearPart {
  std::string name;
  std::size_t outputs = 0;
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

  /// A Binder for names of the same file that have no prefix.
  Binder WithoutPrefix() const { return Binder(*source_, "", precision_); }
  /// A Binder whose linear layers compute in f32: for heads, which are small and decide much.
  Binder InFullPrecision() const { return Binder(*source_, prefix_, kernels::Precision::kF32); }

  bool Has(std::string_view name) const;

  /// [n] values, `added` to each.
  Result<std::unique_ptr<kernels::Vector>> Vector(std::string_view name, std::size_t n,
                                                  float added = 0.0f) const;
  /// Lets go of the file's pages afterwards: the backend has its own copy.
  Result<std::unique_ptr<kernels::LinearWeights>> Linear(std::initializer_list<LinearPart> parts,
                                                         std::size_t inputs, Bias bias) const;
  /// Rows [first, first + n) of the one matrix `name` [rows, cols], without bias.
  Result<std::unique_ptr<kernels::LinearWeights>> LinearRows(std::string_view name,
                                                             std::size_t rows, std::size_t cols,
                                                             std::size_t first,
                                                             std::size_t n) const;
  /// The checkpoint must live as long as the table.
  Result<std::unique_ptr<kernels::Table>> Table(std::string_view name, std::size_t rows,
                                                std::size_t cols) const;
  /// A matrix as it lies in the file.
  Result<kernels::HostTensor> Matrix(std::string_view name, std::size_t rows,
                                     std::size_t cols) const;

 private:
  Binder(const ModelSource& source, std::string prefix, kernels::Precision precision)
      : source_(&source), prefix_(std::move(prefix)), precision_(precision) {}
  Result<weights::TensorView> Take(std::string_view name, std::span<const std::size_t> shape) const;

  const ModelSource* source_;
  std::string prefix_;
  kernels::Precision precision_;
};

}  // namespace lattice::models
