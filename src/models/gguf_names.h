#pragma once

#include <string>
#include <string_view>

namespace lattice::models {

/// A GGUF file's name of the tensor that the classes call `name`
/// ("model.layers.0.mlp.up_proj.weight" is "blk.0.ffn_up.weight"); `name` itself when there is
/// none. `architecture` decides what post_attention_layernorm is, which two roles share.
std::string GgufTensorName(std::string_view architecture, std::string_view name);

}  // namespace lattice::models
