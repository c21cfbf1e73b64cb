#pragma once

#include <cstddef>
#include <span>

#include "lattice/embedding.h"

namespace lattice::embed {

/// Pools the hidden states of one text.
///
/// rows    [n_tokens, hidden] f32, row-major; n_tokens may be 0.
/// n_skip  leading tokens that do not count (a prompt). When nothing is left, out is all zeros.
/// out     [hidden]; sums are made in f64, token after token, and rounded once.
///
///   cls first counted row; last: last row; max: of each column; mean: sum / n; mean_sqrt_length:
///   sum / sqrt(n); weighted_mean: row i (0-based in the whole text) counts i + 1 times.
/// Source  sentence-transformers, modules Pooling.
void PoolRows(std::span<const float> rows, std::size_t hidden, Pooling mode, std::size_t n_skip,
              std::span<float> out);

/// Row of a text of n_tokens > 0 that `mode` reads alone (kCls, kLast), or n_tokens when it reads
/// all.
std::size_t OnlyRow(Pooling mode, std::size_t n_tokens, std::size_t n_skip);

/// x / max(|x|, 1e-12), the length in f64. False, and x unchanged, when x has a NaN or an infinity.
bool NormalizeRow(std::span<float> x);

/// True when every element is finite.
bool AllFinite(std::span<const float> x);

}  // namespace lattice::embed
