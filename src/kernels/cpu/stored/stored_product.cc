#include "kernels/cpu/stored/stored_product.h"

#include <optional>
#include <utility>

#include "lattice/check.h"
#include "numeric/float16.h"

namespace lattice::kernels {
namespace {

InputForm FormOf(Precision precision, Dtype dtype, const StoredKernels& kernels) {
  const InputForm bf16 = kernels.dot_bf16 == nullptr ? InputForm::kRounded : InputForm::kBf16;
  if (precision == Precision::kBf16) return bf16;
  if (precision == Precision::kInt8 && dtype == Dtype::kBf16) return bf16;
  return InputForm::kExact;
}

std::optional<FloatRow> RowKindOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF32:
      return FloatRow::kF32;
    case Dtype::kBf16:
      return FloatRow::kBf16;
    case Dtype::kF16:
      return FloatRow::kF16;
    default:
      return std::nullopt;
  }
}

// Rows in scratch memory: whole cache lines, and not a multiple of the page size apart.
std::size_t RowFloats(std::size_t inputs) { return (inputs + 15) / 16 * 16 + 16; }

}  // namespace

StoredProduct::StoredProduct(StoredMatrix matrix, Precision precision, const StoredKernels& kernels)
    : matrix_(std::move(matrix)), form_(FormOf(precision, matrix_.dtype(), kernels)) {}

std::size_t StoredProduct::ScratchBytes(std::size_t inputs) {
  return kChunkOutputs * RowFloats(inputs) * sizeof(float);
}

ChunkWeights StoredProduct::LoadInPlace(std::size_t begin, std::size_t n, FloatRow kind) const {
  ChunkWeights weights;
  weights.n = n;
  weights.kind = kind;
  for (std::size_t j = 0; j < n; ++j) weights.rows[j] = matrix_.row(begin + j);
  return weights;
}

ChunkWeights StoredProduct::LoadF32(std::size_t begin, std::size_t n, float* scratch) const {
  ChunkWeights weights;
  weights.n = n;
  const bool round = form_ == InputForm::kRounded && matrix_.dtype() != Dtype::kBf16;
  for (std::size_t j = 0; j < n; ++j) {
    const std::span<float> row(scratch + j * RowFloats(matrix_.cols()), matrix_.cols());
    WidenToF32(matrix_.dtype(), {matrix_.row(begin + j), matrix_.row_bytes()}, row);
    if (round) {
      for (float& v : row) v = Bf16ToF32(F32ToBf16(v));
    }
    weights.rows[j] = reinterpret_cast<const std::byte*>(row.data());
  }
  return weights;
}

ChunkWeights StoredProduct::LoadBf16(const StoredKernels& kernels, std::size_t begin, std::size_t n,
                                     std::byte* scratch) const {
  const std::size_t stride = RowFloats(matrix_.cols());
  const std::span<float> wide(reinterpret_cast<float*>(scratch), matrix_.cols());
  auto* rounded = reinterpret_cast<std::uint16_t*>(scratch + stride * sizeof(float));
  ChunkWeights weights;
  weights.n = n;
  weights.kind = FloatRow::kBf16;
  for (std::size_t j = 0; j < n; ++j) {
    WidenToF32(matrix_.dtype(), {matrix_.row(begin + j), matrix_.row_bytes()}, wide);
    std::uint16_t* row = rounded + j * stride;
    kernels.round_row(wide.data(), wide.size(), row, wide.size());
    weights.rows[j] = reinterpret_cast<const std::byte*>(row);
  }
  return weights;
}

ChunkWeights StoredProduct::Load(const StoredKernels& kernels, std::size_t begin, std::size_t n,
                                 std::size_t n_rows, std::byte* scratch) const {
  LATTICE_DCHECK(n <= kChunkOutputs && begin + n <= matrix_.rows());
  const std::optional<FloatRow> kind = RowKindOf(matrix_.dtype());
  if (form_ == InputForm::kBf16) {
    if (kind == FloatRow::kBf16) return LoadInPlace(begin, n, *kind);
    return LoadBf16(kernels, begin, n, scratch);
  }
  const bool as_stored = kind && (form_ == InputForm::kExact || kind == FloatRow::kBf16);
  if (as_stored && (kind == FloatRow::kF32 || n_rows <= kDotF32PassRows)) {
    return LoadInPlace(begin, n, *kind);
  }
  return LoadF32(begin, n, reinterpret_cast<float*>(scratch));
}

void StoredProduct::Multiply(const StoredKernels& kernels, const ChunkWeights& weights,
                             const InputRows& x, std::size_t row, std::size_t n_rows, float* y,
                             std::size_t y_stride) const {
  if (form_ == InputForm::kBf16) {
    kernels.dot_bf16->run({.x = x.bf16 + row * x.bf16_stride,
                           .x_stride = x.bf16_stride,
                           .m = n_rows,
                           .w = weights.rows.data(),
                           .n = weights.n,
                           .k = matrix_.cols(),
                           .y = y,
                           .y_stride = y_stride});
    return;
  }
  const bool exact = form_ == InputForm::kExact;
  const std::size_t stride = exact ? x.exact_stride : x.rounded_stride;
  kernels.dot_f32({.x = (exact ? x.exact : x.rounded) + row * stride,
                   .x_stride = stride,
                   .m = n_rows,
                   .w = weights.rows.data(),
                   .kind = weights.kind,
                   .n = weights.n,
                   .k = matrix_.cols(),
                   .y = y,
                   .y_stride = y_stride});
}

}  // namespace lattice::kernels
