#pragma once

#include <cstddef>

namespace lattice::kernels {

/// Rows that fold into the state together.
inline constexpr std::size_t kChunkRows = 32;
/// Columns of a state or of u that lie together.
inline constexpr std::size_t kDeltaPanel = 64;

/// One key head of a delta-net layer, or one value head, over at most kChunkRows rows of one text.
/// "Padded" is rounded up to 16; numbers past the true dimension are zero.
///
/// A matrix "in panels" has its columns in panels of kDeltaPanel, the last one as wide as is left:
/// [ceil(cols / 64)][rows][width].

/// Inputs of some channels: `window` holds rows of `padded` floats, the last `taps - 1` before the
/// chunk and then the chunk's. Rows [first, first + n) of the chunk are new.
struct ConvArgs {
  const float* x;  ///< The new rows' channels, x_stride apart.
  std::size_t x_stride;
  const float* taps_of;  ///< [taps][taps_stride] weights, tap by tap: this head's channels.
  std::size_t taps_stride, taps;
  std::size_t dim, padded;
  std::size_t first, n;
  /// [taps - 1 + kChunkRows][padded]; after a full chunk the first rows are its last inputs.
  float* window;
  float* out;  ///< [n][padded] silu of the convolution.
};

/// Unit-length keys and queries of one key head, and their products with the chunk's keys.
struct KeysArgs {
  std::size_t key_dim, padded;
  std::size_t first, n;
  float* rows;  ///< [2 n][padded] keys, then queries: made unit-length in place, queries times
                ///< key_dim^-1/2.
  float* chunk_keys;  ///< [kChunkRows / 16][key_dim][16] a column for each row of the chunk.
  float* products;    ///< [2 n][kChunkRows] of each key, then each query, with the chunk's keys.
};

/// Inputs of beta and of the decay of one value head.
struct GatesArgs {
  const float* beta;   ///< The first new row's; x_stride apart.
  const float* decay;  ///< The same.
  std::size_t x_stride;
  float decay_scale, dt_bias;
  std::size_t n;
  float* beta_out;  ///< [kChunkRows] sigmoid(beta)
  float* g_out;     ///< [kChunkRows] decay_scale * softplus(decay + dt_bias); n are written.
};

/// What the next rows of a text will read and write; a row's pieces lie `stride` floats behind
/// those of the row before. Kernels ask for it bit by bit while they compute: it lies in many
/// places, far away.
struct NextRows {
  static constexpr std::size_t kMaxPieces = 7;
  struct Piece {
    const float* from;
    std::size_t stride, n_floats;
  };
  Piece pieces[kMaxPieces];
  std::size_t n_pieces = 0, n_rows = 0;
  std::size_t row = 0, piece = 0;  ///< The first that has not been asked for.
};

/// The delta rule of one value head.
struct ValuesArgs {
  std::size_t key_dim, padded_key, value_dim, padded_value;
  std::size_t first, n;
  const float* rows;      ///< See KeysArgs.
  const float* products;  ///< The same.
  const float* chunk_keys;
  const float* values;  ///< [n][padded_value]
  const float* beta;    ///< [n]
  const float* g;       ///< [kChunkRows] of the chunk's rows, the new ones too.
  float* state;         ///< [key_dim][padded_value] in panels, at the chunk's start.
  float* u;             ///< [kChunkRows][padded_value] in panels: the chunk's rows.
  float* scratch;       ///< ValuesScratchFloats floats.
  float* out;           ///< [n] rows of value_dim, out_stride apart.
  std::size_t out_stride;
  NextRows* next;
};

struct DeltaNetKernels {
  void (*convolve)(const ConvArgs& args);
  void (*keys)(const KeysArgs& args);
  void (*gates)(const GatesArgs& args);
  void (*values)(const ValuesArgs& args);
  /// The state takes a full chunk up.
  void (*fold)(const ValuesArgs& args);
};

constexpr std::size_t ValuesScratchFloats(std::size_t padded_key) {
  return padded_key * kChunkRows;
}

extern const DeltaNetKernels kDeltaNetScalar;
extern const DeltaNetKernels kDeltaNetAvx2;
extern const DeltaNetKernels kDeltaNetAvx512;
extern const DeltaNetKernels kDeltaNetNeon;

}  // namespace lattice::kernels
