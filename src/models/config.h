#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "kernels/api/backend.h"
#include "lattice/result.h"

namespace lattice::models {

/// Bounds of the sizes in a config.json. Real models stay far below; their products fit 64 bits.
inline constexpr std::size_t kMaxVocab = std::size_t{1} << 24;
inline constexpr std::size_t kMaxHidden = std::size_t{1} << 16;
inline constexpr std::size_t kMaxFfnHidden = std::size_t{1} << 20;
inline constexpr std::size_t kMaxLayers = 1024;
inline constexpr std::size_t kMaxHeads = 1024;
inline constexpr std::size_t kMaxHeadDim = 4096;
inline constexpr std::size_t kMaxPositions = std::size_t{1} << 24;
inline constexpr std::size_t kMaxTypes = 256;
inline constexpr std::size_t kMaxLabels = std::size_t{1} << 16;

/// kCorruptData about a place whose kind is right and whose content is not.
Error WrongAt(const JsonView& place, std::string_view what);

/// config.json: a required integer in 1..max. Errors name file, key and number, here and below.
Result<std::size_t> ReadSize(const JsonView& config, std::string_view key, std::size_t max);
/// The same, `fallback` when absent: only where the reference implementation defines that default.
Result<std::size_t> ReadSizeOr(const JsonView& config, std::string_view key, std::size_t fallback,
                               std::size_t max);

/// A required number in (0, 1): the epsilon of a norm.
Result<float> ReadEpsilon(const JsonView& config, std::string_view key);

/// A required activation: "gelu" is exact, "gelu_new", "gelu_fast" and "gelu_pytorch_tanh" are the
/// tanh form; "relu", "silu", "swish", "tanh".
Result<kernels::Activation> ReadActivation(const JsonView& config, std::string_view key);
Result<kernels::Activation> ReadActivationOr(const JsonView& config, std::string_view key,
                                             kernels::Activation fallback);

/// Parts beside the text that such a model has and nothing here reads: "vision", "audio".
std::vector<std::string> UnreadParts(const JsonView& config);

/// kUnsupported when the flag `key` is there and true.
Status RefuseFlag(const JsonView& config, std::string_view key);

/// kUnsupported when the weights are quantised in a way that needs more than their tensors' dtypes.
Status RefuseQuantised(const JsonView& config);

/// hidden / n_heads, which must be whole and even.
Result<std::size_t> HeadDim(const JsonView& config, std::size_t hidden, std::size_t n_heads);

/// The class that the weights were saved from: architectures[0], or an empty string when the file
/// does not say. kUnsupported, with the known ones, unless in `known`.
Result<std::string> ReadArchitecture(const JsonView& config,
                                     std::span<const std::string_view> known);

/// Labels of a classification head: id2label's size, else num_labels, else 2 as the reference
/// assumes.
Result<std::size_t> CountLabels(const JsonView& config);

/// layer_types: true for "sliding_attention", false for "full_attention"; as many as there are
/// layers.
Result<std::vector<bool>> ReadSlidingLayers(const JsonView& layer_types, std::size_t n_layers);

}  // namespace lattice::models
