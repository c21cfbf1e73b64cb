#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "kernels/api/backend.h"

namespace lattice::kernels {

/// Rows of f32, one after another without gaps. Grows and never shrinks.
class CpuBuffer : public Buffer {
 public:
  std::size_t rows() const override { return rows_; }
  std::size_t cols() const override { return cols_; }

  /// Sets the shape. Contents stay when neither the shape nor the memory changes, else are
  /// undefined.
  void Reshape(std::size_t rows, std::size_t cols);

  /// Memory for an operation that fills this buffer, 64-byte aligned, contents undefined.
  std::byte* Scratch(std::size_t size_bytes);

  float* data() { return reinterpret_cast<float*>(memory_.data()); }
  const float* data() const { return reinterpret_cast<const float*>(memory_.data()); }
  float* row(std::size_t i) { return data() + i * cols_; }
  const float* row(std::size_t i) const { return data() + i * cols_; }

 private:
  AlignedBuffer memory_;
  AlignedBuffer scratch_;
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
};

class CpuTable : public Table {
 public:
  /// Values [begin, begin + out.size()) of row i: at most kPiece, and begin a multiple of it.
  static constexpr std::size_t kPiece = 256;  // whole blocks of any format
  virtual void ReadRow(std::size_t i, std::size_t begin, std::span<float> out) const = 0;
};

class CpuVector : public Vector {
 public:
  explicit CpuVector(std::span<const float> values) : values_(values.begin(), values.end()) {}
  std::size_t size() const override { return values_.size(); }
  const float* data() const { return values_.data(); }
  /// The values as rows of n, transposed: [n][size() / n]. Made by the first call; every call must
  /// give the same n.
  const float* Transposed(std::size_t n) const;

 private:
  std::vector<float> values_;
  mutable std::once_flag transposed_once_;
  mutable std::vector<float> transposed_;
};

// Whatever a model hands to CpuBackend was made by it.
inline CpuBuffer& AsCpu(Buffer& buffer) { return static_cast<CpuBuffer&>(buffer); }
inline const CpuBuffer& AsCpu(const Buffer& buffer) {
  return static_cast<const CpuBuffer&>(buffer);
}
inline const CpuTable& AsCpu(const Table& table) { return static_cast<const CpuTable&>(table); }
inline const CpuVector& AsCpu(const Vector& vector) {
  return static_cast<const CpuVector&>(vector);
}

}  // namespace lattice::kernels
