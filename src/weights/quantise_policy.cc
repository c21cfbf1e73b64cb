#include "weights/quantise_policy.h"

#include <algorithm>
#include <charconv>

namespace lattice::weights {
namespace {

constexpr std::string_view kEmbedding = "token_embd.weight";
constexpr std::string_view kOutput = "output.weight";

/// Matrices that are small and decide much, by a part of the name.
constexpr std::string_view kKept[] = {"_norm.weight",   "ffn_gate_inp.weight",  "ssm_conv1d",
                                      "shortconv.conv", "per_layer_model_proj", "position_embd",
                                      "patch_embd",     "token_types"};

bool IsMatrix(std::span<const std::size_t> shape) {
  while (!shape.empty() && shape.front() == 1) shape = shape.subspan(1);
  return shape.size() >= 2;
}

bool IsKept(std::string_view name, std::span<const std::size_t> shape) {
  const auto in_name = [&](std::string_view part) { return name.find(part) != name.npos; };
  return !IsMatrix(shape) || !name.ends_with(".weight") || std::ranges::any_of(kKept, in_name);
}

/// Errors in the first layers travel through all others, and nothing mends those of the last ones.
bool IsTenderLayer(std::size_t layer, std::size_t n_layers) {
  const std::size_t eighth = n_layers / 8;
  return layer < eighth || layer >= 7 * n_layers / 8 || (layer - eighth) % 3 == 2;
}

bool IsTender(std::string_view name, std::size_t n_layers) {
  const auto layer = LayerOfTensor(name);
  if (!layer || !IsTenderLayer(*layer, n_layers)) return false;
  return name.find("attn_v.") != name.npos || name.find("attn_qkv.") != name.npos ||
         name.find("ffn_down") != name.npos;
}

Dtype HeadType(Dtype type) { return type == Dtype::kQ8_0 ? Dtype::kQ8_0 : Dtype::kQ6K; }

Dtype WantedType(const QuantisePolicy& policy, std::string_view name) {
  const bool embedding = name == kEmbedding;
  const bool head = name == kOutput || (embedding && policy.tied_output);
  if (embedding && policy.embedding_type) return *policy.embedding_type;
  if (head && policy.output_type) return *policy.output_type;
  if (policy.pure || !IsBlock(policy.type)) return policy.type;
  if (head) return HeadType(policy.type);
  const bool mixed = policy.type == Dtype::kQ4K || policy.type == Dtype::kQ5K;
  return mixed && IsTender(name, policy.n_blocks) ? Dtype::kQ6K : policy.type;
}

Dtype FallbackOf(Dtype type) {
  switch (type) {
    case Dtype::kQ4K:
      return Dtype::kQ5_0;
    case Dtype::kQ5K:
      return Dtype::kQ5_1;
    case Dtype::kQ6K:
      return Dtype::kQ8_0;
    default:
      return Dtype::kF16;
  }
}

}  // namespace

std::optional<std::size_t> LayerOfTensor(std::string_view name) {
  constexpr std::string_view kBlock = "blk.";
  if (!name.starts_with(kBlock)) return std::nullopt;
  std::size_t layer = 0;
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data() + kBlock.size(), end, layer);
  if (read.ec != std::errc() || read.ptr == end || *read.ptr != '.') return std::nullopt;
  return layer;
}

std::optional<QuantiseChoice> ChooseQuantisedType(const QuantisePolicy& policy,
                                                  std::string_view name,
                                                  std::span<const std::size_t> shape) {
  if (IsKept(name, shape)) return std::nullopt;
  const auto fits = [&](Dtype type) { return shape.back() % LayoutOf(type).elements == 0; };
  QuantiseChoice choice{.type = WantedType(policy, name)};
  choice.fell_back = !fits(choice.type);
  while (!fits(choice.type)) choice.type = FallbackOf(choice.type);
  return choice;
}

}  // namespace lattice::weights
