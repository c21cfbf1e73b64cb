#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/api/buffer.h"

namespace lattice::kernels {

/// Positions of one page of keys and values, and of one tile of the attention over them.
inline constexpr std::size_t kPageTokens = 64;
/// Positions whose tiles form one chain of online softmax; segments are merged in rising order.
inline constexpr std::size_t kSegmentTokens = 512;
/// A gated delta rule folds its rows into the state at absolute multiples of this.
inline constexpr std::size_t kDeltaChunk = 32;
/// Numbers that a head's values take memory for.
constexpr std::size_t PaddedHead(std::size_t head_dim) { return (head_dim + 15) / 16 * 16; }

/// How keys and values are kept. kQ8: blocks of 32 with one f16 scale each.
enum class KvType : std::uint8_t { kF32, kF16, kQ8 };

struct KvShape {
  std::size_t n_kv_heads = 0;
  std::size_t head_dim = 0;  ///< Of keys and of values; a multiple of 32 for kQ8.
  KvType type = KvType::kF16;
};

/// Keys and values of one attention layer for all sequences, in pages of kPageTokens positions. Who
/// uses which page is the owner's business. Address space for all pages is reserved at once; memory
/// is taken when a page is first written.
class KvPages {
 public:
  virtual ~KvPages() = default;
  virtual std::size_t n_pages() const = 0;
  virtual std::size_t page_bytes() const = 0;
};

/// One text's query rows in a batch and where its keys lie.
struct PagedSpan {
  std::uint32_t row_begin = 0, row_end = 0;
  std::uint32_t first_position = 0;      ///< Of row_begin; the others follow.
  std::span<const std::uint32_t> pages;  ///< Position p lies in pages[p / kPageTokens].
};

/// softmax(cap(scale * q k^T) + mask) v over the paged keys of each text: key j is visible to the
/// query at position i when j <= i and, with a window, i - j <= window. cap(s) = c tanh(s / c) for
/// c = soft_cap > 0. Query head h reads key head h / (n_heads / n_kv_heads).
///
/// Order  tiles of kPageTokens keys counted from position 0, online softmax over the tiles of a
///        segment (kSegmentTokens), segments merged in rising order: whatever the rows of a call
///        and the number of threads.
struct PagedAttentionArgs {
  const Buffer* q = nullptr;  ///< Query heads at columns q_col + h * head_dim.
  std::size_t q_col = 0;
  std::size_t n_heads = 0;
  const KvPages* kv = nullptr;  ///< Gives n_kv_heads and head_dim.
  float scale = 1.0f;
  float soft_cap = 0.0f;
  std::uint32_t window = 0;          ///< 0 = no window.
  std::span<const PagedSpan> spans;  ///< In rising order of rows; cover q.
};

/// Which key head a value head of a delta-net layer uses: h / (n_value_heads / n_key_heads) as in
/// safetensors files, or h % n_key_heads as GGUF files are ordered.
enum class KeyHeadOrder : std::uint8_t { kBlocked, kInterleaved };

struct DeltaNetShape {
  std::size_t n_key_heads = 0, n_value_heads = 0;
  std::size_t key_dim = 0, value_dim = 0;  ///< Of one head.
  std::size_t conv_kernel = 0;             ///< Taps; the last one meets the current row.
  KeyHeadOrder order = KeyHeadOrder::kBlocked;

  std::size_t key_width() const { return n_key_heads * key_dim; }
  std::size_t value_width() const { return n_value_heads * value_dim; }
  std::size_t conv_width() const { return 2 * key_width() + value_width(); }
  friend bool operator==(const DeltaNetShape&, const DeltaNetShape&) = default;
};

/// What one delta-net layer remembers of one text, f32: the state of every value head at the last
/// multiple of kDeltaChunk, the rows since then (keys, u, sums of decay), and the inputs of the
/// convolution that truncation and the next rows need.
class DeltaNetState {
 public:
  virtual ~DeltaNetState() = default;
  virtual const DeltaNetShape& shape() const = 0;
  virtual std::size_t n_tokens() const = 0;
  virtual std::size_t size_bytes() const = 0;  ///< Of Backend::ReadDeltaNetState.
};

struct DeltaNetSpan {
  std::uint32_t row_begin = 0, row_end = 0;
  DeltaNetState* state = nullptr;  ///< Takes the rows up.
};

/// Weights of the part of a delta-net layer between its projections.
struct DeltaNetWeights {
  const Vector* conv = nullptr;     ///< [conv_width * conv_kernel], channel by channel.
  const Vector* decay = nullptr;    ///< [n_value_heads] -exp(A_log): negative.
  const Vector* dt_bias = nullptr;  ///< [n_value_heads]
  const Vector* gain = nullptr;     ///< [value_dim] of the norm that follows; null: there is none.
};

/// Causal convolution and SiLU, unit-length queries and keys, and the gated delta rule:
/// q, k, v = silu(conv(x)); q, k *= rsqrt(sum of squares + 1e-6); q *= key_dim^-0.5;
/// beta = sigmoid(b); g = decay * softplus(a + dt_bias); S <- exp(g) S; u = beta (v - S^T k);
/// S <- S + k u^T; o = S^T q; with a gain o <- RmsNorm(o) * silu(gate), head by head: computed in
/// the chunked form whose one order of additions serves single rows and many (S at multiples of
/// kDeltaChunk, then row by row in rising order). Source  Yang et al. 2024, "Gated Delta Networks";
/// Yang et al. 2024, "Parallelizing linear
///         transformers with the delta rule over sequence length".
struct DeltaNetArgs {
  DeltaNetShape shape;
  DeltaNetWeights weights;
  /// Rows of the layer's projections: channels (queries, keys, values) at qkv_col + [0,
  /// conv_width), inputs of beta and of the decay at beta_col and decay_col + [0, n_value_heads).
  const Buffer* x = nullptr;
  std::size_t qkv_col = 0, beta_col = 0, decay_col = 0;
  std::size_t gate_col = 0;  ///< Of value_width gates; looked at with a gain only, as is norm_eps.
  float norm_eps = 0.0f;
  std::span<const DeltaNetSpan> spans;  ///< In rising order of rows; cover x; no state twice.
};

}  // namespace lattice::kernels
