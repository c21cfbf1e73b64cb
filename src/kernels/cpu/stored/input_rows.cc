#include "kernels/cpu/stored/input_rows.h"

#include <algorithm>
#include <cstring>
#include <span>

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

// x rounded, padded with zeros; its pair p goes to place(p).
template <typename Place>
void RoundPairs(const StoredKernels& kernels, std::span<const float> x, std::size_t padded,
                Place place) {
  constexpr std::size_t kPiece = 256;
  std::uint16_t piece[kPiece];
  for (std::size_t t = 0; t < padded; t += kPiece) {
    const std::size_t n = std::min(kPiece, padded - t);
    const std::size_t exist = std::min(n, x.size() - std::min(t, x.size()));
    kernels.round_row(x.data() + std::min(t, x.size()), exist, piece, n);
    for (std::size_t p = 0; p < n; p += 2) {
      std::memcpy(place((t + p) / 2), piece + p, 2 * sizeof(std::uint16_t));
    }
  }
}

// Row i in bf16, in the order that the kernels want.
void RoundRow(const StoredKernels& kernels, std::span<const float> x, const InputRows& rows,
              std::size_t i) {
  const std::size_t padded = rows.bf16_stride - kDotBf16InputGrain;
  std::uint16_t* row = rows.bf16 + i * rows.bf16_stride;
  if (rows.bf16_many && kernels.dot_bf16->many->x_in_lanes) {
    const std::size_t n_steps = padded / kDotBf16InputGrain;
    RoundPairs(kernels, x, padded, [&](std::size_t p) {
      return row + 2 * (DotBf16LaneRank(p % kDotBf16Lanes) * n_steps + p / kDotBf16Lanes);
    });
  } else if (kernels.dot_bf16->grouped) {
    const std::size_t in_group = i % kDotBf16Group;
    row -= in_group * rows.bf16_stride;
    RoundPairs(kernels, x, padded,
               [&](std::size_t p) { return row + 2 * (p * kDotBf16Group + in_group); });
  } else {
    kernels.round_row(x.data(), x.size(), row, padded);
  }
}

}  // namespace

std::size_t InputPlan::Place(std::size_t n_rows, bool gather, std::byte* at,
                             InputRows& rows) const {
  std::size_t used_bytes = 0;
  const auto take = [&](std::size_t size_bytes) {
    std::byte* piece = at == nullptr ? nullptr : at + used_bytes;
    used_bytes += (size_bytes + 63) / 64 * 64;
    return piece;
  };
  const std::size_t stride = Stride(inputs_);
  if (Needs(InputForm::kExact) && gather) {
    rows.gathered = reinterpret_cast<float*>(take(n_rows * stride * sizeof(float)));
    rows.exact = rows.gathered;
    rows.exact_stride = stride;
  }
  if (Needs(InputForm::kRounded)) {
    rows.rounded = reinterpret_cast<float*>(take(n_rows * stride * sizeof(float)));
    rows.rounded_stride = stride;
  }
  if (Needs(InputForm::kBf16)) {
    const std::size_t whole_groups = (n_rows + kDotBf16Group - 1) / kDotBf16Group * kDotBf16Group;
    rows.bf16 =
        reinterpret_cast<std::uint16_t*>(take(whole_groups * stride * sizeof(std::uint16_t)));
    rows.bf16_stride = stride;
  }
  if (Needs(InputForm::kBf16Plain)) {
    rows.bf16_plain =
        reinterpret_cast<std::uint16_t*>(take(n_rows * stride * sizeof(std::uint16_t)));
    rows.bf16_plain_stride = stride;
  }
  if (Needs(InputForm::kBlocks) || Needs(InputForm::kBlockPairs)) {
    rows.block_terms = Needs(InputForm::kBlockPairs) ? 2 : 1;
    n_rows *= rows.block_terms;
    const std::size_t n_blocks = inputs_ / kInputBlock;
    const std::size_t q_stride = (inputs_ + 63) / 64 * 64 + 64;
    rows.block_q = reinterpret_cast<std::int8_t*>(take(n_rows * q_stride));
    rows.block_scale = reinterpret_cast<float*>(take(n_rows * n_blocks * sizeof(float)));
    rows.block_offset = reinterpret_cast<float*>(take(n_rows * n_blocks * sizeof(float)));
    rows.block_sums =
        reinterpret_cast<std::int32_t*>(take(n_rows * n_blocks * sizeof(std::int32_t)));
    rows.block_half_sums =
        reinterpret_cast<std::int32_t*>(take(2 * n_rows * n_blocks * sizeof(std::int32_t)));
    rows.blocks = {rows.block_q,      q_stride,        rows.block_scale,
                   rows.block_offset, rows.block_sums, rows.block_half_sums,
                   n_blocks};
  }
  return used_bytes;
}

std::size_t InputPlan::SizeBytes(std::size_t n_rows) const {
  InputRows rows;
  return Place(n_rows, /*gather=*/true, nullptr, rows);
}

void InputPlan::MakeRow(const StoredKernels& kernels, const float* x, const InputRows& rows,
                        std::size_t i) const {
  if (rows.gathered != nullptr) std::copy_n(x, inputs_, rows.gathered + i * rows.exact_stride);
  if (rows.rounded != nullptr) {
    float* rounded = rows.rounded + i * rows.rounded_stride;
    for (std::size_t t = 0; t < inputs_; ++t) rounded[t] = Bf16ToF32(F32ToBf16(x[t]));
  }
  if (rows.bf16 != nullptr) RoundRow(kernels, {x, inputs_}, rows, i);
  if (rows.bf16_plain != nullptr) {
    kernels.round_row(x, inputs_, rows.bf16_plain + i * rows.bf16_plain_stride, inputs_);
  }
  if (rows.block_q != nullptr) QuantiseRow(kernels, x, rows, i);
}

void InputPlan::QuantiseRow(const StoredKernels& kernels, const float* x, const InputRows& rows,
                            std::size_t i) const {
  const auto blocks_of = [&](std::size_t row, std::size_t block) -> QuantisedRow {
    const std::size_t at = row * rows.blocks.n_blocks + block;
    return {rows.block_q + row * rows.blocks.q_stride + block * kInputBlock, rows.block_scale + at,
            rows.block_offset + at, rows.block_sums + at, rows.block_half_sums + 2 * at};
  };
  const std::size_t row = i * rows.block_terms;
  kernels.quantise_blocks(x, inputs_, blocks_of(row, 0));
  if (rows.block_terms == 1) return;
  constexpr std::size_t kPiece = 8;
  for (std::size_t b = 0; b < rows.blocks.n_blocks; b += kPiece) {
    const std::size_t n = std::min(kPiece, rows.blocks.n_blocks - b);
    const QuantisedRow first = blocks_of(row, b);
    float rest[kPiece * kInputBlock];
    for (std::size_t t = 0; t < n * kInputBlock; ++t) {
      rest[t] = x[b * kInputBlock + t] - first.scale[t / kInputBlock] * first.q[t];
    }
    kernels.quantise_blocks(rest, n * kInputBlock, blocks_of(row + 1, b));
  }
}

InputRows InputPlan::Make(ThreadPool& pool, const StoredKernels& kernels, const InputSource& source,
                          std::size_t n_rows, std::byte* memory) const {
  InputRows rows;
  rows.exact = source.x;
  rows.exact_stride = inputs_;
  if (Place(n_rows, source.order != nullptr, memory, rows) == 0) return rows;
  rows.bf16_many = rows.bf16 != nullptr && kernels.dot_bf16->many != nullptr &&
                   n_rows >= kernels.dot_bf16->many->least_rows;
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
