#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "lattice/result.h"
#include "numeric/dtype.h"

namespace lattice::kernels {

/// Arithmetic of a linear layer.
///   kF32   f32 products and sums: the exact mode.
///   kBf16  weights and activations rounded to bf16, products summed in f32.
///   kInt8  weights in int8 with one f32 scale an output, activations quantised to 8 bits a row but
///          for the row's largest, which stays f32; sums exact in i32.
/// Weights are read from whatever dtype the file has.
enum class Precision : std::uint8_t { kF32, kBf16, kInt8 };

enum class Activation : std::uint8_t { kNone, kGeluErf, kGeluTanh, kRelu, kSilu, kTanh };

/// A matrix or vector as it lies in a file: row-major, IsFloat(dtype), any alignment.
struct HostTensor {
  Dtype dtype = Dtype::kF32;
  std::size_t rows = 0;  ///< 1 for a vector.
  std::size_t cols = 0;
  std::span<const std::byte> bytes;
};

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

/// Rows `row[i]` of one table, i < n_tokens. One term of a sum of embeddings.
struct Lookup {
  const Table* table = nullptr;
  std::span<const std::int32_t> rows;  ///< [n_tokens], each below table->rows().
};

/// y = activation(x W^T + b) [+ residual].
struct Epilogue {
  Activation activation = Activation::kNone;
  const Buffer* residual = nullptr;  ///< [x.rows, outputs]; may be the output itself.
};

/// Which half of a gate-and-up product passes the activation.
enum class GateHalf : std::uint8_t { kFirst, kSecond };

/// Heads of a buffer that rotary embedding or a per-head norm changes: columns
/// first_col + h * head_dim + [0, head_dim) for h < n_heads.
struct HeadColumns {
  std::size_t first_col = 0;
  std::size_t n_heads = 0;
  std::size_t head_dim = 0;
};

/// Angles of rotary embedding: pair (i, i + rotary_dim / 2) of a head turns by
/// position * inv_freq[i] radians, cosine and sine multiplied by `scale`. rotary_dim = 2 *
/// inv_freq.size() may be smaller than head_dim: the rest of the head stays.
struct Rope {
  std::span<const float> inv_freq;
  float scale = 1.0f;
};

/// One text inside a packed batch: its query rows in `q` and its key rows in `kv`.
struct AttentionSpan {
  std::uint32_t query_begin = 0, query_end = 0;
  std::uint32_t key_begin = 0, key_end = 0;
};

/// softmax(scale * q k^T + mask) v for each text and head, over the text's own keys only.
/// Query head h reads key head h / (n_heads / n_kv_heads).
struct AttentionArgs {
  const Buffer* q = nullptr;   ///< Query heads at columns q_col + h * head_dim.
  const Buffer* kv = nullptr;  ///< Key heads at k_col + g * head_dim, value heads at v_col + ...
  std::size_t q_col = 0, k_col = 0, v_col = 0;
  std::size_t n_heads = 0, n_kv_heads = 0, head_dim = 0;
  float scale = 1.0f;
  /// In rising, non-overlapping order of query rows; cover q.
  std::span<const AttentionSpan> spans;
  /// [q rows] index of each query among its text's keys (0-based); what the masks compare with.
  std::span<const std::uint32_t> query_index;
  bool causal = false;  ///< key index <= query index.
  /// Key j is visible to query i only when |i - j| <= window (causal: i - j <= window); 0 = no
  /// window.
  std::uint32_t window = 0;
  /// kF32 computes everything in f32. The others may round q, k, v and the probabilities to bf16.
  Precision precision = Precision::kF32;
};

/// Operations of a forward pass on one device. A model is a list of calls on this; it never sees
/// threads, instruction sets or layouts. Outputs may not alias inputs unless a comment says so.
/// Shapes are preconditions: whoever loads a model proves them.
///
/// Same bits: a row of any result depends on its own inputs only, not on the other rows of the
/// batch, their number, or the number of threads.
class Backend {
 public:
  virtual ~Backend() = default;

  /// "cpu avx512vnni ..., 2 threads", for people.
  virtual std::string Describe() const = 0;

  // Preparation. Each copies what it needs, except MakeTable.

  /// Stacks `matrices` (equal cols) on their output dimension: one product for several layers that
  /// read the same input. `biases` is empty or has one vector (its cols = the matrix's rows) for
  /// each matrix; an absent bias has cols = 0. A non-finite weight in kInt8 is kCorruptData.
  virtual Result<std::unique_ptr<LinearWeights>> MakeLinear(std::span<const HostTensor> matrices,
                                                            std::span<const HostTensor> biases,
                                                            Precision precision) = 0;
  virtual Result<std::unique_ptr<Table>> MakeTable(const HostTensor& table) = 0;
  virtual std::unique_ptr<Vector> MakeVector(std::span<const float> values) = 0;
  virtual std::unique_ptr<Buffer> MakeBuffer() = 0;

  // Operations.

  /// out[i] = scale * sum over terms of table[row[i]], in the order of the terms.
  virtual void Embed(std::span<const Lookup> terms, float scale, Buffer& out) = 0;

  /// out = (v - mean(v)) / sqrt(var(v) + eps) * gain + bias with v = x [+ residual]; biased
  /// variance; bias may be null. out may be x or residual.
  virtual void LayerNorm(const Buffer& x, const Buffer* residual, const Vector& gain,
                         const Vector* bias, float eps, Buffer& out) = 0;

  /// out = x / sqrt(mean(x^2) + eps) * gain. out may be x. A gain of (1 + w) is the caller's sum.
  virtual void RmsNorm(const Buffer& x, const Vector& gain, float eps, Buffer& out) = 0;
  /// out = x + RmsNorm(y): the sandwich form. out may be x.
  virtual void RmsNormAdd(const Buffer& x, const Buffer& y, const Vector& gain, float eps,
                          Buffer& out) = 0;
  /// RmsNorm of each head by itself, in place; gain [head_dim].
  virtual void HeadRmsNorm(Buffer& x, const HeadColumns& heads, const Vector& gain, float eps) = 0;

  /// y = activation(x W^T + b) [+ residual]; y [x.rows, w.outputs].
  virtual void Linear(const Buffer& x, const LinearWeights& w, const Epilogue& epilogue,
                      Buffer& y) = 0;

  /// x [rows, 2n]: out [rows, n] = activation(one half) * (other half).
  virtual void Gate(const Buffer& x, Activation activation, GateHalf activated, Buffer& out) = 0;

  /// Element-wise activation, in place.
  virtual void Activate(Activation activation, Buffer& x) = 0;

  /// Rotates heads in place; positions [x.rows] in tokens, 0-based.
  virtual void ApplyRope(Buffer& x, const HeadColumns& heads,
                         std::span<const std::int32_t> positions, const Rope& rope) = 0;

  /// out [q.rows, n_heads * head_dim].
  virtual void Attention(const AttentionArgs& args, Buffer& out) = 0;

  /// out[i] = x[rows[i]].
  virtual void GatherRows(const Buffer& x, std::span<const std::uint32_t> rows, Buffer& out) = 0;

  // Transfer.

  /// Sets x to [rows, cols] with the given values.
  virtual void Write(std::span<const float> values, std::size_t rows, std::size_t cols,
                     Buffer& x) = 0;
  /// Waits for pending work and copies x out, row-major; values.size() = rows * cols.
  virtual void Read(const Buffer& x, std::span<float> values) = 0;
};

}  // namespace lattice::kernels
