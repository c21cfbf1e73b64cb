#include "models/binder.h"

#include <vector>

#include "weights/safetensors_header.h"

namespace lattice::models {

using kernels::HostTensor;
using weights::ShapeText;

Result<Binder> Binder::Make(const ModelSource& source, std::span<const std::string_view> prefixes,
                            std::string_view tensor) {
  std::string tried;
  for (const std::string_view prefix : prefixes) {
    const std::string name = std::string(prefix) + std::string(tensor);
    if (source.checkpoint->Find(name) != nullptr) {
      return Binder(source, std::string(prefix), source.precision);
    }
    tried += (tried.empty() ? "'" : ", '") + std::string(prefix) + "'";
  }
  return Error{ErrorCode::kNotFound,
               "no tensor '" + std::string(tensor) + "' behind any of the prefixes " + tried};
}

bool Binder::Has(std::string_view name) const {
  return source_->checkpoint->Find(prefix_ + std::string(name)) != nullptr;
}

Result<weights::TensorView> Binder::Take(std::string_view name,
                                         std::span<const std::size_t> shape) const {
  const std::string full = prefix_ + std::string(name);
  if (source_->checkpoint->Find(full) == nullptr) {
    return Error{ErrorCode::kNotFound, "missing tensor '" + full + "' " + ShapeText(shape)};
  }
  LATTICE_TRY(weights::TensorView tensor, source_->checkpoint->Get(full, shape));
  if (!IsWeight(tensor.dtype)) {
    return Error{ErrorCode::kUnsupported, "tensor '" + full + "' has dtype " +
                                              std::string(DtypeName(tensor.dtype)) +
                                              "; expected a floating-point format"};
  }
  // Scaled 8-bit checkpoints keep the scales in a tensor beside the weight.
  for (const char* suffix : {"_scale", "_scale_inv"}) {
    if (source_->checkpoint->Find(full + suffix) == nullptr) continue;
    return Error{ErrorCode::kUnsupported,
                 "tensor '" + full + suffix + "': scaled weights are not supported"};
  }
  return tensor;
}

Result<HostTensor> Binder::Matrix(std::string_view name, std::size_t rows, std::size_t cols) const {
  const std::size_t shape[] = {rows, cols};
  LATTICE_TRY(const weights::TensorView tensor, Take(name, shape));
  return HostTensor{tensor.dtype, rows, cols, tensor.bytes};
}

Result<std::unique_ptr<kernels::Vector>> Binder::Vector(std::string_view name, std::size_t n,
                                                        float added) const {
  const std::size_t shape[] = {n};
  LATTICE_TRY(const weights::TensorView tensor, Take(name, shape));
  LATTICE_TRY(std::vector<float> values, tensor.ToF32());
  for (float& value : values) value += added;
  return source_->backend->MakeVector(values);
}

Result<std::unique_ptr<kernels::LinearWeights>> Binder::Linear(
    std::initializer_list<LinearPart> parts, std::size_t inputs, Bias bias) const {
  std::vector<HostTensor> matrices, biases;
  for (const LinearPart& part : parts) {
    LATTICE_TRY(const HostTensor matrix, Matrix(part.name + ".weight", part.outputs, inputs));
    matrices.push_back(matrix);
    if (bias == Bias::kNone) continue;
    const std::size_t shape[] = {part.outputs};
    LATTICE_TRY(const weights::TensorView vector, Take(part.name + ".bias", shape));
    biases.push_back({vector.dtype, 1, part.outputs, vector.bytes});
  }
  auto linear = source_->backend->MakeLinear(matrices, biases, precision_);
  if (!linear) return std::move(linear).error().Within(prefix_ + parts.begin()->name);
  for (const HostTensor& matrix : matrices) source_->checkpoint->Release(matrix.bytes);
  return linear;
}

Result<std::unique_ptr<kernels::LinearWeights>> Binder::LinearRows(std::string_view name,
                                                                   std::size_t rows,
                                                                   std::size_t cols,
                                                                   std::size_t first,
                                                                   std::size_t n) const {
  LATTICE_TRY(HostTensor matrix, Matrix(name, rows, cols));
  const std::size_t row_bytes = matrix.bytes.size() / rows;
  matrix.rows = n;
  matrix.bytes = matrix.bytes.subspan(first * row_bytes, n * row_bytes);
  auto linear = source_->backend->MakeLinear({&matrix, 1}, {}, precision_);
  if (!linear) return std::move(linear).error().Within(prefix_ + std::string(name));
  source_->checkpoint->Release(matrix.bytes);
  return linear;
}

Result<std::unique_ptr<kernels::Table>> Binder::Table(std::string_view name, std::size_t rows,
                                                      std::size_t cols) const {
  LATTICE_TRY(const HostTensor table, Matrix(name, rows, cols));
  return source_->backend->MakeTable(table);
}

}  // namespace lattice::models
