#include "kernels/cpu/stored/stored_product.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "kernels/cpu/stored/stored_linear.h"
#include "lattice/check.h"
#include "numeric/float16.h"

namespace lattice::kernels {
namespace {

InputForm FormOf(Precision precision, Dtype dtype, const StoredKernels& kernels) {
  const bool integers = MultipliesIntegers(precision);
  if (integers && IsBlock(dtype)) {
    return precision == Precision::kInt8 ? InputForm::kBlocks : InputForm::kBlockPairs;
  }
  if (precision == Precision::kBf16 && IsBlock(dtype) && kernels.bf16_panels != nullptr) {
    return InputForm::kBf16Plain;
  }
  if (precision == Precision::kBf16 || (integers && dtype == Dtype::kBf16)) {
    return kernels.dot_bf16 == nullptr ? InputForm::kRounded : InputForm::kBf16;
  }
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

// The values of an 8-bit float format by their bits; null for other formats.
const std::array<float, 256>* SmallFloats(Dtype dtype) {
  const auto make = [](float (*widen)(std::uint8_t)) {
    std::array<float, 256> values;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = widen(static_cast<std::uint8_t>(i));
    return values;
  };
  static const std::array<float, 256> e4m3 = make(F8E4M3ToF32), e5m2 = make(F8E5M2ToF32);
  if (dtype == Dtype::kF8E4M3) return &e4m3;
  return dtype == Dtype::kF8E5M2 ? &e5m2 : nullptr;
}

static_assert(kChunkOutputs == kDotBf16LaneOutputs);

void RoundToBf16(const StoredKernels& kernels, std::span<float> x) {
  constexpr std::size_t kPiece = 512;
  std::uint16_t rounded[kPiece];
  for (std::size_t t = 0; t < x.size(); t += kPiece) {
    const std::size_t n = std::min(kPiece, x.size() - t);
    kernels.round_row(x.data() + t, n, rounded, n);
    kernels.widen_row(FloatRow::kBf16, reinterpret_cast<const std::byte*>(rounded), n,
                      x.data() + t);
  }
}

// Rows in scratch memory: whole cache lines, and not a multiple of the page size apart.
std::size_t RowFloats(std::size_t inputs) { return (inputs + 15) / 16 * 16 + 16; }

}  // namespace

Result<StoredProduct> StoredProduct::Make(ThreadPool& pool, WeightMemory& memory,
                                          const HostTensor& tensor, Precision precision,
                                          const StoredKernels& kernels) {
  LATTICE_TRY(StoredMatrix matrix, StoredMatrix::Make(tensor));
  const Dtype dtype = tensor.store_as.value_or(tensor.dtype);
  const InputForm form = FormOf(precision, dtype, kernels);
  if (!PackedProduct::Takes(form)) {
    if (dtype == tensor.dtype) return StoredProduct(std::move(matrix), form);
    LATTICE_TRY(StoredMatrix quantised, QuantiseMatrix(pool, memory, matrix, dtype));
    return StoredProduct(std::move(quantised), form);
  }
  LATTICE_TRY(const PackedMatrix packed, PackMatrix(pool, memory, matrix, dtype));
  StoredProduct product(std::move(matrix), form);
  product.packed_.emplace(packed, product.cols(), form);
  return product;
}

bool StoredProduct::Packs(Dtype dtype, Precision precision, const StoredKernels& kernels) {
  return PackedProduct::Takes(FormOf(precision, dtype, kernels));
}

// Whether kernels read the weights where they lie.
bool StoredProduct::IsInPlace(std::size_t n_rows) const {
  const std::optional<FloatRow> kind = RowKindOf(matrix_.dtype());
  switch (form_) {
    case InputForm::kBlocks:
    case InputForm::kBlockPairs:
    case InputForm::kBf16Plain:
      return false;
    case InputForm::kBf16:
      return kind == FloatRow::kBf16;
    case InputForm::kRounded:
      return kind == FloatRow::kBf16 && n_rows <= kDotF32PassRows;
    case InputForm::kExact:
      break;
  }
  return kind && (kind == FloatRow::kF32 || n_rows <= kDotF32PassRows);
}

std::size_t StoredProduct::ScratchBytes() const {
  if (packed_) return packed_->ScratchBytes();
  const std::size_t stride = RowFloats(matrix_.cols());
  const bool in_place = IsInPlace(std::numeric_limits<std::size_t>::max());
  if (form_ == InputForm::kBf16) {
    return DotBf16PackedBytes(matrix_.cols()) +
           (in_place ? 0 : stride * sizeof(float) + kChunkOutputs * stride * sizeof(std::uint16_t));
  }
  return in_place ? 0 : kChunkOutputs * stride * sizeof(float);
}

void StoredProduct::Widen(const StoredKernels& kernels, std::size_t row,
                          std::span<float> out) const {
  if (const std::optional<FloatRow> kind = RowKindOf(matrix_.dtype())) {
    kernels.widen_row(*kind, matrix_.row(row), out.size(), out.data());
    return;
  }
  if (IsBlock(matrix_.dtype())) {
    return kernels.widen_blocks(matrix_.dtype(), matrix_.row(row), out.size(), out.data());
  }
  if (const auto* table = SmallFloats(matrix_.dtype())) {
    const std::byte* bytes = matrix_.row(row);
    for (std::size_t t = 0; t < out.size(); ++t) {
      out[t] = (*table)[static_cast<std::uint8_t>(bytes[t])];
    }
    return;
  }
  WidenToF32(matrix_.dtype(), {matrix_.row(row), matrix_.row_bytes()}, out);
}

ChunkWeights StoredProduct::LoadInPlace(std::size_t begin, std::size_t n, FloatRow kind) const {
  ChunkWeights weights;
  weights.n = n;
  weights.kind = kind;
  for (std::size_t j = 0; j < n + kRowsAhead; ++j) {
    weights.rows[j] = matrix_.row(std::min(begin + j, matrix_.rows() - 1));
  }
  return weights;
}

ChunkWeights StoredProduct::LoadF32(const StoredKernels& kernels, std::size_t begin, std::size_t n,
                                    float* scratch) const {
  ChunkWeights weights;
  weights.n = n;
  const bool round = form_ == InputForm::kRounded && matrix_.dtype() != Dtype::kBf16;
  for (std::size_t j = 0; j < n; ++j) {
    const std::span<float> row(scratch + j * RowFloats(matrix_.cols()), matrix_.cols());
    Widen(kernels, begin + j, row);
    if (round) RoundToBf16(kernels, row);
    weights.rows[j] = reinterpret_cast<const std::byte*>(row.data());
  }
  std::fill_n(weights.rows.data() + n, kRowsAhead, weights.rows[n - 1]);
  return weights;
}

ChunkWeights StoredProduct::LoadBf16(const StoredKernels& kernels, bool many_rows,
                                     std::size_t begin, std::size_t n, std::byte* scratch) const {
  auto* packed = reinterpret_cast<std::uint16_t*>(scratch);
  ChunkWeights weights =
      matrix_.dtype() == Dtype::kBf16
          ? LoadInPlace(begin, n, FloatRow::kBf16)
          : RoundBf16(kernels, begin, n, scratch + DotBf16PackedBytes(matrix_.cols()));
  if (!many_rows) return weights;
  kernels.dot_bf16->many->pack(weights.rows.data(), n, matrix_.cols(), packed);
  weights.bf16_many = packed;
  return weights;
}

ChunkWeights StoredProduct::RoundBf16(const StoredKernels& kernels, std::size_t begin,
                                      std::size_t n, std::byte* scratch) const {
  const std::size_t stride = RowFloats(matrix_.cols());
  const std::span<float> wide(reinterpret_cast<float*>(scratch), matrix_.cols());
  auto* rounded = reinterpret_cast<std::uint16_t*>(scratch + stride * sizeof(float));
  ChunkWeights weights;
  weights.n = n;
  weights.kind = FloatRow::kBf16;
  for (std::size_t j = 0; j < n; ++j) {
    Widen(kernels, begin + j, wide);
    std::uint16_t* row = rounded + j * stride;
    kernels.round_row(wide.data(), wide.size(), row, wide.size());
    weights.rows[j] = reinterpret_cast<const std::byte*>(row);
  }
  std::fill_n(weights.rows.data() + n, kRowsAhead, weights.rows[n - 1]);
  return weights;
}

ChunkWeights StoredProduct::Load(const StoredKernels& kernels, const InputRows& x,
                                 std::size_t begin, std::size_t n, std::size_t n_rows,
                                 std::byte* scratch) const {
  LATTICE_DCHECK(n <= kChunkOutputs && begin + n <= matrix_.rows());
  if (packed_) return packed_->Load(kernels, begin, n, n_rows, scratch);
  if (form_ == InputForm::kBf16) return LoadBf16(kernels, x.bf16_many, begin, n, scratch);
  if (IsInPlace(n_rows)) return LoadInPlace(begin, n, *RowKindOf(matrix_.dtype()));
  if (n_rows > kDotF32PassRows) {
    return LoadF32(kernels, begin, n, reinterpret_cast<float*>(scratch));
  }
  ChunkWeights weights;
  weights.n = n;
  weights.unread = begin;
  weights.scratch = scratch;
  return weights;
}

void StoredProduct::MultiplyF32(const StoredKernels& kernels, const ChunkWeights& weights,
                                const InputRows& x, std::size_t row, std::size_t n_rows, float* y,
                                std::size_t y_stride) const {
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

void StoredProduct::Multiply(const StoredKernels& kernels, const ChunkWeights& weights,
                             const InputRows& x, std::size_t row, std::size_t n_rows, float* y,
                             std::size_t y_stride) const {
  if (packed_) return packed_->Multiply(kernels, weights, x, row, n_rows, y, y_stride);
  if (weights.bf16_many != nullptr) {
    kernels.dot_bf16->many->run({.x = x.bf16,
                                 .x_row = row,
                                 .x_stride = x.bf16_stride,
                                 .m = n_rows,
                                 .w = weights.bf16_many,
                                 .n = weights.n,
                                 .k = matrix_.cols(),
                                 .y = y,
                                 .y_stride = y_stride});
    return;
  }
  if (form_ == InputForm::kBf16) {
    kernels.dot_bf16->run({.x = x.bf16,
                           .x_row = row,
                           .x_stride = x.bf16_stride,
                           .m = n_rows,
                           .w = weights.rows.data(),
                           .n = weights.n,
                           .k = matrix_.cols(),
                           .y = y,
                           .y_stride = y_stride});
    return;
  }
  if (!weights.unread) return MultiplyF32(kernels, weights, x, row, n_rows, y, y_stride);
  // A few at a time, which the first cache holds.
  constexpr std::size_t kFew = 4;
  auto* const wide = reinterpret_cast<float*>(weights.scratch);
  for (std::size_t j = 0; j < weights.n; j += kFew) {
    const std::size_t n = std::min(kFew, weights.n - j);
    MultiplyF32(kernels, LoadF32(kernels, *weights.unread + j, n, wide), x, row, n_rows, y + j,
                y_stride);
  }
}

}  // namespace lattice::kernels
