#include "models/sequence.h"

namespace lattice::models {
namespace {

std::size_t KvBytes(std::size_t n_values, kernels::KvType type) {
  switch (type) {
    case kernels::KvType::kF32:
      return n_values * 4;
    case kernels::KvType::kF16:
      return n_values * 2;
    case kernels::KvType::kQ8:
      return n_values / 32 * 34;  // 32 integers and an f16 scale
  }
  return 0;
}

/// The state of every value head, the rows of one chunk (keys, u, sums of decay), and the inputs
/// that the convolution of a truncated chunk and of the next row needs. All f32.
std::size_t DeltaNetBytes(const kernels::DeltaNetShape& shape) {
  const std::size_t states = shape.n_value_heads * shape.key_dim * shape.value_dim;
  const std::size_t row = shape.key_width() + shape.value_width() + shape.n_value_heads;
  const std::size_t inputs = (kernels::kDeltaChunk + shape.conv_kernel - 1) * shape.conv_width();
  return (states + kernels::kDeltaChunk * row + inputs) * sizeof(float);
}

}  // namespace

std::size_t StateShape::BytesPerToken(kernels::KvType type) const {
  std::size_t bytes = 0;
  for (const LayerState& layer : layers) {
    if (layer.kind != LayerState::Kind::kAttention) continue;
    const std::size_t dim = layer.kv.head_dim;
    bytes += layer.kv.n_kv_heads * (KvBytes(dim, type) + KvBytes(kernels::PaddedHead(dim), type));
  }
  return bytes;
}

std::size_t StateShape::BytesPerSequence() const {
  std::size_t bytes = 0;
  for (const LayerState& layer : layers) {
    if (layer.kind == LayerState::Kind::kDeltaNet) bytes += DeltaNetBytes(layer.delta_net);
  }
  return bytes;
}

}  // namespace lattice::models
