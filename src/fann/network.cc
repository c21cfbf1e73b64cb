#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "fann/network_data.h"

namespace lattice::fann {
namespace {

constexpr std::string_view kNames[] = {"linear",     "sigmoid", "tanh", "relu",
                                       "leaky_relu", "softmax", "gelu", "silu"};

Error Bad(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

Status CheckLayer(const LayerInfo& layer, const std::string& where, bool is_last) {
  if (layer.n_inputs == 0 || layer.n_outputs == 0) {
    return Bad(where + ": a layer needs inputs and outputs");
  }
  std::size_t n_weights = 0;
  if (__builtin_mul_overflow(layer.n_inputs, layer.n_outputs, &n_weights) ||
      n_weights > kMostWeights) {
    return Error{ErrorCode::kResourceExhausted, where + ": " + std::to_string(layer.n_inputs) +
                                                    " x " + std::to_string(layer.n_outputs) +
                                                    " weights; the most is 100 million"};
  }
  if (static_cast<std::size_t>(layer.activation) >= std::size(kNames)) {
    return Bad(where + ": unknown activation");
  }
  if (layer.activation == Activation::kSoftmax && !is_last) {
    return Bad(where + ": softmax may only come last");
  }
  if (!std::isfinite(layer.slope)) return Bad(where + ": the slope is not finite");
  if (!(layer.dropout >= 0.0f && layer.dropout < 1.0f)) {
    return Bad(where + ": dropout must be at least 0 and less than 1");
  }
  if (layer.dropout > 0.0f && is_last) return Bad(where + ": dropout of the last layer");
  return Ok();
}

// Places the layers' parameters one after another, each on a cache line.
void Place(NetworkData& data) {
  const auto line = [](std::size_t n) { return (n + 15) / 16 * 16; };
  std::size_t at = 0;
  data.widest = data.layers.front().n_inputs;
  for (const LayerInfo& layer : data.layers) {
    LayerPlace place;
    place.stride = RowStride(layer.n_outputs);
    place.weights = at;
    place.biases = line(at + layer.n_inputs * place.stride);
    place.gains = line(place.biases + place.stride);
    place.shifts = line(place.gains + (layer.layer_norm ? place.stride : 0));
    at = place.end = line(place.shifts + (layer.layer_norm ? place.stride : 0));
    data.places.push_back(place);
    data.n_parameters += (layer.n_inputs + (layer.layer_norm ? 3 : 1)) * layer.n_outputs;
    data.widest = std::max(data.widest, layer.n_outputs);
  }
  data.parameters = AlignedBuffer(at * sizeof(float));
  std::ranges::fill(data.values(), 0.0f);
}

// Calls f(offset in the plain order, offset in the padded one) for each parameter.
template <typename F>
void ForEachParameter(const NetworkData& data, F f) {
  std::size_t plain = 0;
  for (std::size_t l = 0; l < data.layers.size(); ++l) {
    const LayerInfo& layer = data.layers[l];
    const LayerPlace& place = data.places[l];
    for (std::size_t o = 0; o < layer.n_outputs; ++o) {
      for (std::size_t i = 0; i < layer.n_inputs; ++i) {
        f(plain++, place.weights + i * place.stride + o);
      }
    }
    for (std::size_t o = 0; o < layer.n_outputs; ++o) f(plain++, place.biases + o);
    if (!layer.layer_norm) continue;
    for (std::size_t o = 0; o < layer.n_outputs; ++o) f(plain++, place.gains + o);
    for (std::size_t o = 0; o < layer.n_outputs; ++o) f(plain++, place.shifts + o);
  }
}

}  // namespace

std::string_view ActivationName(Activation activation) {
  return kNames[static_cast<std::size_t>(activation)];
}

bool AllFinite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float x) { return std::isfinite(x); });
}

void GatherParameters(const NetworkData& data, std::span<const float> padded,
                      std::span<float> plain) {
  ForEachParameter(data, [&](std::size_t to, std::size_t from) { plain[to] = padded[from]; });
}

void ScatterParameters(const NetworkData& data, std::span<const float> plain,
                       std::span<float> padded) {
  ForEachParameter(data, [&](std::size_t from, std::size_t to) { padded[to] = plain[from]; });
}

Network::Network(std::unique_ptr<NetworkData> data) : data_(std::move(data)) {}
Network::Network(Network&&) noexcept = default;
Network& Network::operator=(Network&&) noexcept = default;
Network::~Network() = default;

Result<Network> Network::Create(std::vector<LayerInfo> layers) {
  if (layers.empty()) return Bad("a network needs at least one layer");
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const std::string where = "layer " + std::to_string(l);
    LATTICE_TRY_VOID(CheckLayer(layers[l], where, l + 1 == layers.size()));
    if (l > 0 && layers[l].n_inputs != layers[l - 1].n_outputs) {
      return Bad(where + ": " + std::to_string(layers[l].n_inputs) +
                 " inputs, but the layer before has " + std::to_string(layers[l - 1].n_outputs) +
                 " outputs");
    }
  }
  auto data = std::make_unique<NetworkData>();
  data->layers = std::move(layers);
  Place(*data);
  for (std::size_t l = 0; l < data->layers.size(); ++l) {
    if (!data->layers[l].layer_norm) continue;
    std::ranges::fill(data->values().subspan(data->places[l].gains, data->layers[l].n_outputs),
                      1.0f);
  }
  return Network(std::move(data));
}

Network Network::Clone() const {
  auto copy = std::make_unique<NetworkData>();
  copy->layers = data_->layers;
  copy->places = data_->places;
  copy->n_parameters = data_->n_parameters;
  copy->widest = data_->widest;
  copy->name = data_->name;
  copy->input_names = data_->input_names;
  copy->output_names = data_->output_names;
  copy->parameters = AlignedBuffer(data_->parameters.size());
  std::ranges::copy(std::as_const(*data_).values(), copy->values().begin());
  return Network(std::move(copy));
}

std::size_t Network::n_inputs() const { return data_->layers.front().n_inputs; }
std::size_t Network::n_outputs() const { return data_->layers.back().n_outputs; }
std::size_t Network::n_layers() const { return data_->layers.size(); }
std::size_t Network::n_parameters() const { return data_->n_parameters; }
const LayerInfo& Network::layer(std::size_t i) const { return data_->layers.at(i); }
const std::string& Network::name() const { return data_->name; }
const std::vector<std::string>& Network::input_names() const { return data_->input_names; }
const std::vector<std::string>& Network::output_names() const { return data_->output_names; }

std::string Network::Summary() const {
  std::string text = std::to_string(n_inputs());
  for (const LayerInfo& layer : data_->layers) {
    text += " -> ";
    if (layer.layer_norm) text += "norm ";
    text += std::string(ActivationName(layer.activation)) + ' ' + std::to_string(layer.n_outputs);
  }
  return text;
}

std::vector<float> Network::Parameters() const {
  std::vector<float> plain(data_->n_parameters);
  GatherParameters(*data_, std::as_const(*data_).values(), plain);
  return plain;
}

Status Network::SetParameters(std::span<const float> values) {
  if (values.size() != data_->n_parameters) {
    return Bad("the network has " + std::to_string(data_->n_parameters) + " parameters, not " +
               std::to_string(values.size()));
  }
  if (!AllFinite(values)) return Bad("a parameter is not finite");
  ScatterParameters(*data_, values, data_->values());
  return Ok();
}

Status Network::SetNames(std::string name, std::vector<std::string> inputs,
                         std::vector<std::string> outputs) {
  if (!inputs.empty() && inputs.size() != n_inputs()) {
    return Bad(std::to_string(inputs.size()) + " names for " + std::to_string(n_inputs()) +
               " inputs");
  }
  if (!outputs.empty() && outputs.size() != n_outputs()) {
    return Bad(std::to_string(outputs.size()) + " names for " + std::to_string(n_outputs()) +
               " outputs");
  }
  data_->name = std::move(name);
  data_->input_names = std::move(inputs);
  data_->output_names = std::move(outputs);
  return Ok();
}

}  // namespace lattice::fann
