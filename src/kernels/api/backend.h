#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "kernels/api/buffer.h"
#include "kernels/api/state.h"
#include "kernels/api/weight_memory.h"
#include "lattice/result.h"
#include "numeric/dtype.h"

namespace lattice::kernels {

/// Arithmetic of a linear layer.
///   kF32   f32 products and sums: the exact mode.
///   kBf16  weights and activations rounded to bf16, products summed in f32.
///   kInt8  weights in int8 with one f32 scale an output, activations quantised to 8 bits a row but
///          for the row's largest, which stays f32; sums exact in i32.
/// Weights are read from whatever dtype the file has. For weights that are computed with as they
/// are stored (Backend::MakeStoredLinear):
///   kF32   the stored numbers and f32 activations.
///   kBf16  activations rounded to bf16; weights of a wider dtype too.
///   kInt8  activations quantised to 8 bits in blocks of 32 with one f32 scale each, against the
///          integers of a block format; sums exact in i32 within a block. Float weights compute
///          as in kBf16 when stored in 16 bits as bf16, else as in kF32.
///   kInt16 as kInt8, but what the 8 bits of a block leave of an activation is quantised to 8 bits
///          once more and multiplied, too: about 15 bits. Of stored weights only.
enum class Precision : std::uint8_t { kF32, kBf16, kInt8, kInt16 };

enum class Activation : std::uint8_t { kNone, kGeluErf, kGeluTanh, kRelu, kSilu, kTanh };

/// A matrix or vector as it lies in a file: row-major, IsWeight(dtype), any alignment. Rows of a
/// block format are whole blocks.
struct HostTensor {
  Dtype dtype = Dtype::kF32;
  std::size_t rows = 0;  ///< 1 for a vector.
  std::size_t cols = 0;
  std::span<const std::byte> bytes;
  /// Row i is stored as row row_order[i]; empty: in order. Borrowed for a call.
  std::span<const std::uint32_t> row_order = {};
  /// For MakeStoredLinear and MakeExperts: the values are kept in this block format, quantised when
  /// the layer is made. For MakeTable: a row's values are rounded to it when they are looked up,
  /// but for those of 256 one of which is beyond its range. CanQuantise(*store_as), or the dtype
  /// itself.
  std::optional<Dtype> store_as = std::nullopt;
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

/// One expert: gate and up [n, inputs] each (slices of one tensor, or two), down [inputs, n].
struct ExpertTensors {
  HostTensor gate, up, down;
};

/// A mixture's experts, prepared for the backend.
class ExpertWeights {
 public:
  virtual ~ExpertWeights() = default;
  virtual std::size_t n_experts() const = 0;
};

/// How tokens choose experts: p = softmax of the router's logits in f32, the `n_used` largest (of
/// equal ones the lower index), weights p / their sum when `renormalise`, times `expert_scale`.
struct ExpertChoice {
  std::size_t n_used = 0;
  bool renormalise = true;
  Activation activation = Activation::kSilu;
  const Vector* expert_scale = nullptr;  ///< [n_experts] or null: ones.
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

  // Preparation. Each copies what it needs, except MakeTable and what its comment says.

  /// Stacks `matrices` (equal cols) on their output dimension: one product for several layers that
  /// read the same input. `biases` is empty or has one vector (its cols = the matrix's rows) for
  /// each matrix; an absent bias has cols = 0. A non-finite weight in kInt8 is kCorruptData.
  virtual Result<std::unique_ptr<LinearWeights>> MakeLinear(std::span<const HostTensor> matrices,
                                                            std::span<const HostTensor> biases,
                                                            Precision precision) = 0;
  /// The same from weights of about their size in the file. For generators, whose weights are most
  /// of their memory. A matrix of a format that the backend Packs and one with another format to be
  /// kept in are laid out anew in pieces of `memory`, which must outlive the layer; the others stay
  /// where they are, and their bytes must outlive it. Matrices may have different dtypes.
  /// kInvalidArgument when a block format's columns are not whole blocks; kUnsupported and
  /// kCorruptData when values cannot be quantised as asked.
  virtual Result<std::unique_ptr<LinearWeights>> MakeStoredLinear(
      std::span<const HostTensor> matrices, std::span<const HostTensor> biases, Precision precision,
      WeightMemory& memory) = 0;
  /// Experts' gated feed-forward weights: gate and up of an expert [n, inputs], down [inputs, n];
  /// kept as those of MakeStoredLinear.
  virtual Result<std::unique_ptr<ExpertWeights>> MakeExperts(std::span<const ExpertTensors> experts,
                                                             Precision precision,
                                                             WeightMemory& memory) = 0;
  /// Whether MakeStoredLinear and MakeExperts lay a matrix of this format out anew.
  virtual bool Packs(Dtype dtype, Precision precision) const = 0;
  virtual Result<std::unique_ptr<Table>> MakeTable(const HostTensor& table) = 0;
  /// The rows of a layer of one packed matrix, without a bias: the values that MakeTable of it
  /// would give, from the same memory. Null for other layers.
  virtual std::unique_ptr<Table> MakeTable(std::shared_ptr<const LinearWeights> rows) = 0;
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

  /// y [x.rows, w.outputs / 2] = activation(first half of x W^T + b) * its second half. `product`
  /// is memory for the whole, should the backend want it; its contents are undefined afterwards.
  virtual void GatedLinear(const Buffer& x, const LinearWeights& w, Activation activation,
                           Buffer& product, Buffer& y) = 0;

  /// x [rows, 2n]: out [rows, n] = activation(one half) * (other half).
  virtual void Gate(const Buffer& x, Activation activation, GateHalf activated, Buffer& out) = 0;

  /// Element-wise activation, in place.
  virtual void Activate(Activation activation, Buffer& x) = 0;

  /// Rotates heads in place; positions [x.rows] in tokens, 0-based.
  virtual void ApplyRope(Buffer& x, const HeadColumns& heads,
                         std::span<const std::int32_t> positions, const Rope& rope) = 0;

  /// out [q.rows, n_heads * head_dim].
  virtual void Attention(const AttentionArgs& args, Buffer& out) = 0;

  // Operations of generators.

  /// Copies rows of keys and values (key heads at k_col, value heads at v_col) into pages: row r
  /// goes to place slots[r] % kPageTokens of page slots[r] / kPageTokens.
  virtual void StoreKv(const Buffer& kv, std::size_t k_col, std::size_t v_col,
                       std::span<const std::uint32_t> slots, KvPages& pages) = 0;
  /// out [q.rows, n_heads * head_dim].
  virtual void PagedAttention(const PagedAttentionArgs& args, Buffer& out) = 0;
  /// out [x.rows, value_width]; the states take the rows up.
  virtual void DeltaNet(const DeltaNetArgs& args, Buffer& out) = 0;

  /// x[r][c] *= sigmoid(gate[r][gate_col + c]).
  virtual void SigmoidGate(Buffer& x, const Buffer& gate, std::size_t gate_col) = 0;
  /// out += sigmoid(gate[r][gate_col]) * x, one gate a row.
  virtual void AddSigmoidGated(const Buffer& x, const Buffer& gate, std::size_t gate_col,
                               Buffer& out) = 0;
  /// x[r][c] = activation(x[r][c]) * y[r][y_col + c].
  virtual void ActivateMultiply(Activation activation, Buffer& x, const Buffer& y,
                                std::size_t y_col) = 0;
  /// x = c tanh(x / c).
  virtual void SoftCap(float c, Buffer& x) = 0;
  /// x = scale * (x + y); y may be null.
  virtual void AddScaled(Buffer& x, const Buffer* y, float scale) = 0;
  /// out [x.rows, inputs] = sum of the chosen experts' outputs, times their weights, added in the
  /// router's ranking order; router [x.rows, n_experts].
  virtual void Experts(const Buffer& x, const Buffer& router, const ExpertWeights& experts,
                       const ExpertChoice& choice, Buffer& out) = 0;

  // What sequences are made of. Bytes are the backend's own, for files of the same machine and
  // version; lengths are preconditions.

  /// kResourceExhausted when the address space is not to be had.
  virtual Result<std::unique_ptr<KvPages>> MakeKvPages(const KvShape& shape,
                                                       std::size_t n_pages) = 0;
  virtual void CopyKvPage(std::uint32_t from, std::uint32_t to, KvPages& pages) = 0;
  virtual void ReadKvPage(const KvPages& pages, std::uint32_t page, std::span<std::byte> out) = 0;
  virtual void WriteKvPage(std::span<const std::byte> bytes, std::uint32_t page,
                           KvPages& pages) = 0;

  virtual std::unique_ptr<DeltaNetState> MakeDeltaNetState(const DeltaNetShape& shape) = 0;
  virtual void CopyDeltaNetState(const DeltaNetState& from, DeltaNetState& to) = 0;
  /// Forgets all but the first n tokens; n at least the last multiple of kDeltaChunk that the state
  /// has reached, or 0.
  virtual void TruncateDeltaNetState(std::size_t n, DeltaNetState& state) = 0;
  virtual void ReadDeltaNetState(const DeltaNetState& state, std::span<std::byte> out) = 0;
  /// kCorruptData when the bytes cannot be a state of this shape.
  virtual Status WriteDeltaNetState(std::span<const std::byte> bytes, DeltaNetState& state) = 0;

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
