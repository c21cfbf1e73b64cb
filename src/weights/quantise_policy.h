#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "numeric/dtype.h"

namespace lattice::weights {

/// What the weights of a model are to be stored as, and what of the model bears on it.
struct QuantisePolicy {
  Dtype type = Dtype::kQ8_0;                 ///< A format of CanNarrow.
  std::optional<Dtype> embedding_type = {};  ///< Of the token embedding; absent: by the rule.
  std::optional<Dtype> output_type = {};     ///< Of the output head; absent: by the rule.
  bool pure = false;                         ///< No matrix gets more bits than `type` for its role.
  bool tied_output = false;                  ///< The token embedding is the output head too.
  std::size_t n_blocks = 0;  ///< Layers, for the rule about the first and last ones.
};

/// Where a tensor goes.
struct QuantiseChoice {
  Dtype type = Dtype::kF32;
  /// Its rows are not whole blocks of the type that it should have had, and this is the next best.
  bool fell_back = false;
};

/// The one rule of which weights are stored how, for files and for models quantised while loading.
///
/// name   as in GGUF files ("blk.0.attn_q.weight"; of other layouts: models::GgufTensorName).
/// shape  row-major.
///
/// Nothing for what stays as it is: vectors, norms, biases, routers of experts, convolutions,
/// tables of positions and of token types. Every other matrix, or stack of them, gets
///   F32, F16, BF16    that type;
///   output head       Q6_K, or Q8_0 when that is the type (a tied embedding is a head);
///   values (attn_v, attn_qkv) and ffn_down in the first and last eighth of the layers and every
///                     third between, when the type is Q4_K or Q5_K: Q6_K;
///   else              the type.
/// Rows that are not whole blocks of 256: Q5_0 for Q4_K, Q5_1 for Q5_K, Q8_0 for Q6_K. Not whole
/// blocks of 32 either: F16.
/// Source  the choices of llama.cpp's llama-quantize, so that files of one type are alike.
std::optional<QuantiseChoice> ChooseQuantisedType(const QuantisePolicy& policy,
                                                  std::string_view name,
                                                  std::span<const std::size_t> shape);

/// Of "blk.12.ffn_down.weight"; nothing for tensors outside of layers.
std::optional<std::size_t> LayerOfTensor(std::string_view name);

}  // namespace lattice::weights
