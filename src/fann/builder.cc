#include <cmath>
#include <utility>

#include "fann/network_data.h"
#include "numeric/random.h"

namespace lattice::fann {
namespace {

bool IsOfReluFamily(Activation activation) {
  return activation == Activation::kRelu || activation == Activation::kLeakyRelu ||
         activation == Activation::kGelu || activation == Activation::kSilu;
}

// Uniform in +-limit has the variance limit^2 / 3.
double Limit(const LayerInfo& layer, Start start) {
  const auto in = static_cast<double>(layer.n_inputs), out = static_cast<double>(layer.n_outputs);
  const bool he =
      start == Start::kHe || (start == Start::kAuto && IsOfReluFamily(layer.activation));
  return std::sqrt(6.0 / (he ? in : in + out));
}

}  // namespace

NetworkBuilder& NetworkBuilder::Layer(std::size_t n_outputs, Activation activation,
                                      LayerOptions options) {
  const std::size_t n_inputs = layers_.empty() ? n_inputs_ : layers_.back().n_outputs;
  layers_.push_back({n_inputs, n_outputs, activation, options.slope, options.layer_norm,
                     options.dropout, std::move(options.name)});
  starts_.push_back(options.start);
  return *this;
}

Result<Network> NetworkBuilder::Build(std::uint64_t seed) const {
  LATTICE_TRY(Network network, Network::Create(layers_));
  NetworkData& data = network.data();
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const LayerInfo& layer = layers_[l];
    const LayerPlace& place = data.places[l];
    const double limit = Limit(layer, starts_[l]);
    Random random(seed, l);
    for (std::size_t o = 0; o < layer.n_outputs; ++o) {
      for (std::size_t i = 0; i < layer.n_inputs; ++i) {
        data.values()[place.weights + i * place.stride + o] =
            static_cast<float>((2 * random.Uniform() - 1) * limit);
      }
    }
  }
  return network;
}

}  // namespace lattice::fann
