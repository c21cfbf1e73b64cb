#pragma once

#include <cstddef>

namespace lattice::kernels {

/// Activations: an f32 matrix [rows, cols] in the backend's memory. An operation sets the shape of
/// its output; memory is kept for reuse, so a long-lived buffer stops allocating.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual std::size_t rows() const = 0;
  virtual std::size_t cols() const = 0;
};

/// A linear layer's weights [outputs, inputs] and bias, prepared for the backend.
class LinearWeights {
 public:
  virtual ~LinearWeights() = default;
  virtual std::size_t outputs() const = 0;
  virtual std::size_t inputs() const = 0;
};

/// An embedding table [rows, cols], kept as stored; its bytes must outlive it.
class Table {
 public:
  virtual ~Table() = default;
  virtual std::size_t rows() const = 0;
  virtual std::size_t cols() const = 0;
};

/// A small f32 vector (gain, bias) in the backend's memory.
class Vector {
 public:
  virtual ~Vector() = default;
  virtual std::size_t size() const = 0;
};

}  // namespace lattice::kernels
