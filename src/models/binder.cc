#include "models/binder.h"

#include <algorithm>
#include <vector>

#include "models/gguf_names.h"
#include "models/packed_weights.h"
#include "weights/safetensors_header.h"

namespace lattice::models {

using kernels::HostTensor;
using weights::ShapeText;

namespace {

/// The file's name of a tensor.
std::string NameIn(const ModelSource& source, const std::string& name) {
  return source.layout.rename ? source.layout.rename(name) : name;
}

/// The name by which weights::ChooseQuantisedType knows a tensor: of a GGUF file, where the experts
/// of a layer are one tensor.
std::string PolicyName(std::string_view name) {
  constexpr std::string_view kExperts = ".experts.", kWeight = ".weight";
  const std::size_t at = name.find(kExperts);
  if (at == std::string_view::npos) return GgufTensorName("", name);
  std::string_view rest = name.substr(at + kExperts.size());
  rest.remove_prefix(std::min(rest.find_first_not_of("0123456789."), rest.size()));
  if (rest.ends_with(kWeight)) rest.remove_suffix(kWeight.size());
  return GgufTensorName(
      "", std::string(name.substr(0, at)) + std::string(kExperts) + std::string(rest));
}

/// Rows [first, first + n) of `matrix`, which has no order of its own.
HostTensor Rows(HostTensor matrix, std::size_t first, std::size_t n) {
  const std::size_t row_bytes = matrix.bytes.size() / matrix.rows;
  matrix.bytes = matrix.bytes.subspan(first * row_bytes, n * row_bytes);
  matrix.rows = n;
  return matrix;
}

}  // namespace

Result<Binder> Binder::Make(const ModelSource& source, std::span<const std::string_view> prefixes,
                            std::string_view tensor) {
  std::string tried;
  for (const std::string_view prefix : prefixes) {
    const std::string name = std::string(prefix) + std::string(tensor);
    if (source.checkpoint->Find(NameIn(source, name)) != nullptr) {
      return Binder(source, std::string(prefix), source.precision);
    }
    tried += (tried.empty() ? "'" : ", '") + std::string(prefix) + "'";
  }
  return Error{ErrorCode::kNotFound,
               "no tensor '" + std::string(tensor) + "' behind any of the prefixes " + tried};
}

std::string Binder::FileName(std::string_view name) const {
  return NameIn(*source_, prefix_ + std::string(name));
}

bool Binder::Has(std::string_view name) const {
  return source_->checkpoint->Find(FileName(name)) != nullptr;
}

std::span<const std::size_t> Binder::Shape(std::string_view name) const {
  const weights::TensorView* tensor = source_->checkpoint->Find(FileName(name));
  return tensor == nullptr ? std::span<const std::size_t>() : tensor->shape;
}

Result<weights::TensorView> Binder::Take(std::string_view name,
                                         std::span<const std::size_t> shape) const {
  const std::string full = FileName(name);
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
  HostTensor matrix{tensor.dtype, rows, cols, tensor.bytes};
  LATTICE_TRY(matrix.store_as, StoredAs(name, tensor));
  return matrix;
}

/// Absent for what stays as it is.
Result<std::optional<Dtype>> Binder::StoredAs(std::string_view name,
                                              const weights::TensorView& tensor) const {
  const std::optional<Dtype> as_it_is;
  if (!source_->quantise) return as_it_is;
  const auto choice =
      weights::ChooseQuantisedType(*source_->quantise, PolicyName(name), tensor.shape);
  if (!choice || !IsBlock(choice->type) || choice->type == tensor.dtype) return as_it_is;
  if (!IsBlock(tensor.dtype)) return std::optional<Dtype>(choice->type);
  return Error{ErrorCode::kInvalidArgument,
               "tensor '" + FileName(name) + "' is quantised to " +
                   std::string(DtypeName(tensor.dtype)) + " already; weights to be quantised to " +
                   std::string(DtypeName(choice->type)) + " must be floats"};
}

Result<std::unique_ptr<kernels::Vector>> Binder::Vector(std::string_view name, std::size_t n,
                                                        float added) const {
  const std::size_t shape[] = {n};
  LATTICE_TRY(const weights::TensorView tensor, Take(name, shape));
  LATTICE_TRY(std::vector<float> values, tensor.ToF32());
  for (float& value : values) value += added;
  return source_->backend->MakeVector(values);
}

Result<std::vector<float>> Binder::Values(
    std::string_view name, std::initializer_list<std::vector<std::size_t>> shapes) const {
  const weights::TensorView* found = source_->checkpoint->Find(FileName(name));
  const auto shape = std::ranges::find_if(
      shapes, [&](const auto& one) { return found != nullptr && found->shape == one; });
  LATTICE_TRY(const weights::TensorView tensor,
              Take(name, shape == shapes.end() ? *shapes.begin() : *shape));
  return tensor.ToF32();
}

// Of stored weights see Backend::MakeStoredLinear.
void Binder::ReleaseCopied(const HostTensor& matrix) const {
  const bool copied =
      !source_->stored || matrix.store_as || source_->backend->Packs(matrix.dtype, precision_);
  if (copied) source_->checkpoint->Release(matrix.bytes);
}

Result<std::unique_ptr<kernels::LinearWeights>> Binder::Make(
    std::span<const HostTensor> matrices, std::span<const HostTensor> biases) const {
  kernels::Backend& backend = *source_->backend;
  if (!source_->stored) {
    auto linear = backend.MakeLinear(matrices, biases, precision_);
    for (const HostTensor& matrix : matrices) ReleaseCopied(matrix);
    return linear;
  }
  PiecesOf memory(*source_->checkpoint, *source_->memory);
  for (const HostTensor& matrix : matrices) memory.Add(matrix);
  auto linear = backend.MakeStoredLinear(matrices, biases, precision_, memory);
  for (const HostTensor& matrix : matrices) ReleaseCopied(matrix);
  return linear;
}

Result<std::unique_ptr<kernels::LinearWeights>> Binder::Linear(std::span<const LinearPart> parts,
                                                               std::size_t inputs,
                                                               Bias bias) const {
  std::vector<HostTensor> matrices, biases;
  for (const LinearPart& part : parts) {
    LATTICE_TRY(HostTensor matrix, Matrix(part.name + ".weight", part.outputs, inputs));
    matrix.row_order = part.row_order;
    matrices.push_back(matrix);
    if (bias == Bias::kNone) continue;
    LATTICE_CHECK(part.row_order.empty());
    const std::size_t shape[] = {part.outputs};
    LATTICE_TRY(const weights::TensorView vector, Take(part.name + ".bias", shape));
    biases.push_back({vector.dtype, 1, part.outputs, vector.bytes});
  }
  auto linear = Make(matrices, biases);
  if (!linear) return std::move(linear).error().Within(FileName(parts.front().name));
  return linear;
}

Result<std::unique_ptr<kernels::LinearWeights>> Binder::Prepare(std::string_view name,
                                                                const HostTensor& matrix) const {
  auto linear = Make({&matrix, 1}, {});
  if (!linear) return std::move(linear).error().Within(FileName(name));
  return linear;
}

Result<std::unique_ptr<kernels::LinearWeights>> Binder::LinearRows(std::string_view name,
                                                                   std::size_t rows,
                                                                   std::size_t cols,
                                                                   std::size_t first,
                                                                   std::size_t n) const {
  LATTICE_TRY(const HostTensor matrix, Matrix(name, rows, cols));
  return Prepare(name, Rows(matrix, first, n));
}

Result<std::unique_ptr<kernels::LinearWeights>> Binder::Row(std::string_view name,
                                                            std::size_t cols) const {
  const weights::TensorView* found = source_->checkpoint->Find(FileName(name));
  const std::size_t shape[] = {1, cols};
  const bool flat = found != nullptr && found->shape.size() == 1;
  LATTICE_TRY(const weights::TensorView tensor,
              Take(name, flat ? std::span(shape).last(1) : std::span(shape)));
  return Prepare(name, HostTensor{tensor.dtype, 1, cols, tensor.bytes});
}

Result<std::vector<HostTensor>> Binder::Matrices(std::string_view name, std::size_t n,
                                                 std::size_t rows, std::size_t cols) const {
  const std::size_t shape[] = {n, rows, cols};
  LATTICE_TRY(const weights::TensorView tensor, Take(name, shape));
  HostTensor whole{tensor.dtype, n * rows, cols, tensor.bytes};
  LATTICE_TRY(whole.store_as, StoredAs(name, tensor));
  std::vector<HostTensor> matrices;
  for (std::size_t i = 0; i < n; ++i) matrices.push_back(Rows(whole, i * rows, rows));
  return matrices;
}

Result<std::unique_ptr<kernels::ExpertWeights>> Binder::Experts(
    std::span<const kernels::ExpertTensors> experts) const {
  PiecesOf memory(*source_->checkpoint, *source_->memory);
  for (const kernels::ExpertTensors& expert : experts) {
    for (const HostTensor* matrix : {&expert.gate, &expert.up, &expert.down}) memory.Add(*matrix);
  }
  auto weights = source_->backend->MakeExperts(experts, precision_, memory);
  for (const kernels::ExpertTensors& expert : experts) {
    for (const HostTensor* matrix : {&expert.gate, &expert.up, &expert.down}) {
      ReleaseCopied(*matrix);
    }
  }
  return weights;
}

Result<std::unique_ptr<kernels::Table>> Binder::Table(std::string_view name, std::size_t rows,
                                                      std::size_t cols) const {
  LATTICE_TRY(const HostTensor table, Matrix(name, rows, cols));
  return source_->backend->MakeTable(table);
}

}  // namespace lattice::models
