#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "fann/units/variants.h"
#include "lattice/fann.h"

namespace lattice::fann {

/// Elements from one row to the next of a matrix with n columns. From 16 columns on rows start on
/// cache lines, an odd number of them apart: columns then spread over the sets of the cache.
constexpr std::size_t RowStride(std::size_t n) {
  if (n < 16) return n;
  const std::size_t lines = (n + 15) / 16;
  return (lines | 1) * 16;
}

/// Where a layer's parameters lie in NetworkData::parameters, in elements. Padding is zero.
struct LayerPlace {
  std::size_t weights = 0;  ///< Transposed: [n_inputs, stride].
  std::size_t stride = 0;
  std::size_t biases = 0;  ///< [stride]
  std::size_t gains = 0;   ///< [stride], of a layer norm only.
  std::size_t shifts = 0;  ///< [stride], of a layer norm only.
  std::size_t end = 0;
};

struct NetworkData {
  std::vector<LayerInfo> layers;
  std::vector<LayerPlace> places;
  AlignedBuffer parameters;
  std::size_t n_parameters = 0;  ///< Without padding.
  std::size_t widest = 0;        ///< Of all rows.
  std::string name;
  std::vector<std::string> input_names, output_names;

  std::span<float> values() { return parameters.As<float>(); }
  std::span<const float> values() const { return parameters.As<float>(); }
};

inline UnitKind KindOf(const LayerInfo& layer) { return static_cast<UnitKind>(layer.activation); }

/// Between the public order of parameters (Network::Parameters) and the padded one.
void GatherParameters(const NetworkData& data, std::span<const float> padded,
                      std::span<float> plain);
void ScatterParameters(const NetworkData& data, std::span<const float> plain,
                       std::span<float> padded);

/// Whether all are finite.
bool AllFinite(std::span<const float> values);

inline constexpr std::size_t kMostWeights = 100'000'000;  ///< Of a layer.

/// Of layer norms, added to the variance.
inline constexpr float kNormEpsilon = 1e-5f;

}  // namespace lattice::fann
