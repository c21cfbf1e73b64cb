#include "kernels/cpu/stored/input_rows.h"

#include <algorithm>

#include "kernels/cpu/row_split.h"
#include "numeric/float16.h"

namespace lattice::kernels {
namespace {

// Nanoseconds an input that a row takes, roughly.
constexpr double kFormNs = 0.1;

// A step beyond a multiple of the page size, so that rows do not meet in the same cache sets.
std::size_t Stride(std::size_t inputs) {
  return (inputs + kDotBf16InputGrain - 1) / kDotBf16InputGrain * kDotBf16InputGrain +
         kDotBf16InputGrain;
}

}  // namespace

std::size_t InputPlan::SizeBytes(std::size_t n_rows) const {
  std::size_t row_bytes = 0;
  if (Needs(InputForm::kExact)) row_bytes += Stride(inputs_) * sizeof(float);
  if (Needs(InputForm::kRounded)) row_bytes += Stride(inputs_) * sizeof(float);
  if (Needs(InputForm::kBf16)) row_bytes += Stride(inputs_) * sizeof(std::uint16_t);
  return n_rows * row_bytes;
}

void InputPlan::MakeRow(const StoredKernels& kernels, const float* x, const InputRows& rows,
                        std::size_t i) const {
  if (rows.gathered != nullptr) std::copy_n(x, inputs_, rows.gathered + i * rows.exact_stride);
  if (rows.rounded != nullptr) {
    float* rounded = rows.rounded + i * rows.rounded_stride;
    for (std::size_t t = 0; t < inputs_; ++t) rounded[t] = Bf16ToF32(F32ToBf16(x[t]));
  }
  if (rows.bf16 != nullptr) {
    const std::size_t padded = rows.bf16_stride - kDotBf16InputGrain;
    kernels.round_row(x, inputs_, rows.bf16 + i * rows.bf16_stride, padded);
  }
}

InputRows InputPlan::Make(ThreadPool& pool, const StoredKernels& kernels, const InputSource& source,
                          std::size_t n_rows, std::byte* memory) const {
  InputRows rows;
  rows.exact = source.x;
  rows.exact_stride = inputs_;
  rows.rounded_stride = rows.bf16_stride = Stride(inputs_);
  if (Needs(InputForm::kExact) && source.order != nullptr) {
    rows.gathered = reinterpret_cast<float*>(memory);
    rows.exact = rows.gathered;
    rows.exact_stride = Stride(inputs_);
    memory += n_rows * rows.exact_stride * sizeof(float);
  }
  if (Needs(InputForm::kRounded)) {
    rows.rounded = reinterpret_cast<float*>(memory);
    memory += n_rows * rows.rounded_stride * sizeof(float);
  }
  if (Needs(InputForm::kBf16)) rows.bf16 = reinterpret_cast<std::uint16_t*>(memory);
  if (rows.gathered == nullptr && rows.rounded == nullptr && rows.bf16 == nullptr) return rows;
  ForRows(pool, n_rows, kFormNs * static_cast<double>(inputs_),
          [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
              const std::size_t from = source.order == nullptr ? i : source.order[i];
              MakeRow(kernels, source.x + from * inputs_, rows, i);
            }
          });
  return rows;
}

}  // namespace lattice::kernels
