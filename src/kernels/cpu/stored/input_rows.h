#pragma once

#include <cstddef>
#include <cstdint>

#include "base/thread_pool.h"
#include "kernels/cpu/stored/stored_kernels.h"

namespace lattice::kernels {

/// What a product reads its rows of x as.
enum class InputForm : std::uint8_t {
  kExact,    ///< f32
  kRounded,  ///< f32 of bf16 values
  kBf16,
  kBf16Plain,   ///< bf16, row by row whatever dot_bf16 wants; the inputs are a multiple of 32
  kBlocks,      ///< 8 bits in blocks of 32; the inputs are a multiple of 32
  kBlockPairs,  ///< the same twice: a row, and then what that leaves of it. Not beside kBlocks
};

/// Where rows of x come from: row i is row order[i] of x, or row i when there is no order.
struct InputSource {
  const float* x = nullptr;  ///< rows of the plan's inputs, without gaps
  const std::uint32_t* order = nullptr;
};

/// Rows of x in the forms that were asked for. Views.
struct InputRows {
  const float* exact = nullptr;
  std::size_t exact_stride = 0;
  float* gathered = nullptr;  ///< `exact` when rows had to be put in order
  float* rounded = nullptr;
  std::size_t rounded_stride = 0;
  std::uint16_t* bf16 = nullptr;
  std::size_t bf16_stride = 0;
  bool bf16_many = false;  ///< as DotBf16ManyArgs describes, not DotBf16Args
  std::uint16_t* bf16_plain = nullptr;
  std::size_t bf16_plain_stride = 0;
  std::int8_t* block_q = nullptr;
  float* block_scale = nullptr;
  float* block_offset = nullptr;
  std::int32_t* block_sums = nullptr;
  std::int32_t* block_half_sums = nullptr;
  QuantisedRows blocks;         ///< those above, for kernels
  std::size_t block_terms = 1;  ///< rows of `blocks` for one of x
};

/// Makes rows of x ready for products: each row once, whatever the number of outputs.
class InputPlan {
 public:
  explicit InputPlan(std::size_t inputs = 0) : inputs_(inputs) {}
  void Need(InputForm form) { needs_ |= 1u << static_cast<unsigned>(form); }

  std::size_t inputs() const { return inputs_; }
  /// Memory that Make needs for n_rows, at most; a multiple of 64.
  std::size_t SizeBytes(std::size_t n_rows) const;
  /// The forms of n_rows rows in memory (64-byte aligned), made on the pool when it is worth it.
  InputRows Make(ThreadPool& pool, const StoredKernels& kernels, const InputSource& source,
                 std::size_t n_rows, std::byte* memory) const;

 private:
  bool Needs(InputForm form) const { return (needs_ >> static_cast<unsigned>(form) & 1u) != 0; }
  /// Where each form lies in memory from `at` on; returns the bytes that they take. `gather`: exact
  /// rows have to be copied.
  std::size_t Place(std::size_t n_rows, bool gather, std::byte* at, InputRows& rows) const;
  void MakeRow(const StoredKernels& kernels, const float* x, const InputRows& rows,
               std::size_t i) const;
  void QuantiseRow(const StoredKernels& kernels, const float* x, const InputRows& rows,
                   std::size_t i) const;

  std::size_t inputs_;
  unsigned needs_ = 0;
};

}  // namespace lattice::kernels
