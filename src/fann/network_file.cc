#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/checked_math.h"
#include "base/files.h"
#include "base/sha256.h"
#include "fann/bytes.h"
#include "fann/network_data.h"

namespace lattice::fann {
namespace {

constexpr std::string_view kMagic = "FANN";
constexpr std::size_t kDigestBytes = sizeof(Sha256Digest);
constexpr std::size_t kMostFileBytes = std::size_t{1} << 31;
constexpr std::size_t kLeastLayerBytes = 9;  // Of version 1, without its numbers.

// The weights of a layer, as files have them: [n_outputs, n_inputs].
std::vector<float> FileWeights(const NetworkData& data, std::size_t l) {
  const LayerInfo& layer = data.layers[l];
  const LayerPlace& place = data.places[l];
  std::vector<float> weights(layer.n_inputs * layer.n_outputs);
  for (std::size_t i = 0; i < layer.n_inputs; ++i) {
    for (std::size_t o = 0; o < layer.n_outputs; ++o) {
      weights[o * layer.n_inputs + i] = data.values()[place.weights + i * place.stride + o];
    }
  }
  return weights;
}

void WriteNumbers(const NetworkData& data, std::size_t l, ByteWriter& out) {
  const LayerInfo& layer = data.layers[l];
  const LayerPlace& place = data.places[l];
  out.Array<float>(FileWeights(data, l));
  out.Array<float>(data.values().subspan(place.biases, layer.n_outputs));
  if (!layer.layer_norm) return;
  out.Array<float>(data.values().subspan(place.gains, layer.n_outputs));
  out.Array<float>(data.values().subspan(place.shifts, layer.n_outputs));
}

Result<std::string> WriteFirst(const NetworkData& data) {
  ByteWriter out;
  out.Text(kMagic);
  out.Number(std::uint32_t{1});
  out.Number(static_cast<std::uint32_t>(data.layers.size()));
  for (std::size_t l = 0; l < data.layers.size(); ++l) {
    const LayerInfo& layer = data.layers[l];
    if (layer.layer_norm || layer.activation > Activation::kSoftmax) {
      return Error{ErrorCode::kUnsupported,
                   "files of version 1 have no " +
                       (layer.layer_norm ? std::string("layer norm")
                                         : std::string(ActivationName(layer.activation))) +
                       ": layer " + std::to_string(l)};
    }
    out.Number(static_cast<std::uint32_t>(layer.n_inputs));
    out.Number(static_cast<std::uint32_t>(layer.n_outputs));
    out.Number(static_cast<std::uint8_t>(layer.activation));
    if (layer.activation == Activation::kLeakyRelu) out.Number(layer.slope);
    WriteNumbers(data, l, out);
  }
  return std::move(out.bytes());
}

std::string WriteSecond(const NetworkData& data) {
  ByteWriter out;
  out.Text(kMagic);
  out.Number(std::uint32_t{2});
  out.Number(static_cast<std::uint32_t>(data.layers.size()));
  out.Counted(data.name);
  for (const auto* names : {&data.input_names, &data.output_names}) {
    out.Number(static_cast<std::uint32_t>(names->size()));
    for (const std::string& name : *names) out.Counted(name);
  }
  for (std::size_t l = 0; l < data.layers.size(); ++l) {
    const LayerInfo& layer = data.layers[l];
    out.Number(static_cast<std::uint32_t>(layer.n_inputs));
    out.Number(static_cast<std::uint32_t>(layer.n_outputs));
    out.Number(static_cast<std::uint8_t>(layer.activation));
    out.Number(static_cast<std::uint8_t>(layer.layer_norm ? 1 : 0));
    out.Number(layer.slope);
    out.Number(layer.dropout);
    out.Counted(layer.name);
    WriteNumbers(data, l, out);
  }
  Sha256 hash;
  hash.Update(out.bytes());
  const Sha256Digest digest = hash.Finish();
  out.Array(std::span<const std::byte>(digest));
  return std::move(out.bytes());
}

// A layer's shape, and where its numbers lie.
struct ParsedLayer {
  LayerInfo info;
  std::span<const std::byte> weights, biases, gains, shifts;
};

// Sizes are checked against what is left of the file before anything is made.
Status ReadNumbers(ByteReader& in, ParsedLayer& layer) {
  const auto n_weights = CheckedMul(layer.info.n_inputs, layer.info.n_outputs);
  if (!n_weights || *n_weights == 0 || *n_weights > kMostWeights) {
    return in.Bad("layer", std::to_string(layer.info.n_inputs) + " x " +
                               std::to_string(layer.info.n_outputs) + " weights");
  }
  const std::size_t row_bytes = layer.info.n_outputs * sizeof(float);
  LATTICE_TRY(layer.weights, in.Bytes(*n_weights * sizeof(float), "weights"));
  LATTICE_TRY(layer.biases, in.Bytes(row_bytes, "biases"));
  if (!layer.info.layer_norm) return Ok();
  LATTICE_TRY(layer.gains, in.Bytes(row_bytes, "gains"));
  LATTICE_TRY(layer.shifts, in.Bytes(row_bytes, "shifts"));
  return Ok();
}

Result<ParsedLayer> ReadFirst(ByteReader& in) {
  ParsedLayer layer;
  LATTICE_TRY(layer.info.n_inputs, in.Number<std::uint32_t>("number of inputs"));
  LATTICE_TRY(layer.info.n_outputs, in.Number<std::uint32_t>("number of outputs"));
  LATTICE_TRY(const auto activation, in.Number<std::uint8_t>("activation"));
  if (activation > static_cast<std::uint8_t>(Activation::kSoftmax)) {
    return in.Bad("activation", "unknown: " + std::to_string(activation));
  }
  layer.info.activation = static_cast<Activation>(activation);
  if (layer.info.activation == Activation::kLeakyRelu) {
    LATTICE_TRY(layer.info.slope, in.Number<float>("slope"));
  }
  LATTICE_TRY_VOID(ReadNumbers(in, layer));
  return layer;
}

Result<ParsedLayer> ReadSecond(ByteReader& in) {
  ParsedLayer layer;
  LATTICE_TRY(layer.info.n_inputs, in.Number<std::uint32_t>("number of inputs"));
  LATTICE_TRY(layer.info.n_outputs, in.Number<std::uint32_t>("number of outputs"));
  LATTICE_TRY(const auto activation, in.Number<std::uint8_t>("activation"));
  LATTICE_TRY(const auto norm, in.Number<std::uint8_t>("layer norm"));
  if (activation > static_cast<std::uint8_t>(Activation::kSilu)) {
    return in.Bad("activation", "unknown: " + std::to_string(activation));
  }
  if (norm > 1) return in.Bad("layer norm", "neither 0 nor 1");
  layer.info.activation = static_cast<Activation>(activation);
  layer.info.layer_norm = norm == 1;
  LATTICE_TRY(layer.info.slope, in.Number<float>("slope"));
  LATTICE_TRY(layer.info.dropout, in.Number<float>("dropout"));
  LATTICE_TRY(layer.info.name, in.Counted("layer name"));
  LATTICE_TRY_VOID(ReadNumbers(in, layer));
  return layer;
}

Result<std::vector<std::string>> ReadNames(ByteReader& in, std::string_view what) {
  LATTICE_TRY(const auto n, in.Number<std::uint32_t>(what));
  if (n > in.left() / sizeof(std::uint32_t)) return in.Bad(what, "more names than bytes");
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < n; ++i) {
    LATTICE_TRY(std::string name, in.Counted(what));
    names.push_back(std::move(name));
  }
  return names;
}

float FloatAt(std::span<const std::byte> bytes, std::size_t i) {
  float value;
  std::memcpy(&value, bytes.data() + i * sizeof(float), sizeof(float));
  return value;
}

Result<Network> Assemble(std::vector<ParsedLayer> parsed) {
  std::vector<LayerInfo> infos;
  for (ParsedLayer& layer : parsed) infos.push_back(std::move(layer.info));
  auto made = Network::Create(std::move(infos));
  if (!made) return Error{ErrorCode::kCorruptData, std::move(made).error().message};
  Network network = std::move(made).value();
  NetworkData& data = network.data();
  for (std::size_t l = 0; l < parsed.size(); ++l) {
    const std::size_t n_inputs = data.layers[l].n_inputs, n_outputs = data.layers[l].n_outputs;
    const LayerPlace& place = data.places[l];
    float* const values = data.values().data();
    for (std::size_t o = 0; o < n_outputs; ++o) {
      for (std::size_t i = 0; i < n_inputs; ++i) {
        values[place.weights + i * place.stride + o] = FloatAt(parsed[l].weights, o * n_inputs + i);
      }
      values[place.biases + o] = FloatAt(parsed[l].biases, o);
      if (!data.layers[l].layer_norm) continue;
      values[place.gains + o] = FloatAt(parsed[l].gains, o);
      values[place.shifts + o] = FloatAt(parsed[l].shifts, o);
    }
    if (!AllFinite(data.values().subspan(place.weights, place.end - place.weights))) {
      return Error{ErrorCode::kCorruptData,
                   "layer " + std::to_string(l) + ": a parameter is not finite"};
    }
  }
  return network;
}

Status CheckDigest(std::span<const std::byte> bytes, std::size_t header_bytes) {
  if (bytes.size() < header_bytes + kDigestBytes) {
    return Error{ErrorCode::kCorruptData, "the file ends before its checksum"};
  }
  const auto digest = bytes.last(kDigestBytes);
  Sha256 hash;
  hash.Update(bytes.first(bytes.size() - kDigestBytes));
  if (!std::ranges::equal(hash.Finish(), digest)) {
    return Error{ErrorCode::kCorruptData,
                 "the checksum does not match: the file is damaged or cut"};
  }
  return Ok();
}

}  // namespace

Result<std::string> Serialise(const Network& network, FileVersion version) {
  if (version == FileVersion::kFirst) return WriteFirst(network.data());
  return WriteSecond(network.data());
}

Result<Network> ParseNetwork(std::span<const std::byte> bytes) {
  ByteReader whole(bytes);
  LATTICE_TRY(const auto magic, whole.Bytes(kMagic.size(), "magic"));
  if (!std::ranges::equal(magic, std::as_bytes(std::span(kMagic)))) {
    return Error{ErrorCode::kCorruptData, "not a network: the file does not start with FANN"};
  }
  LATTICE_TRY(const auto version, whole.Number<std::uint32_t>("version"));
  if (version != 1 && version != 2) {
    return Error{ErrorCode::kUnsupported,
                 "version " + std::to_string(version) + " of the file; known are 1 and 2"};
  }
  if (version == 2) {
    LATTICE_TRY_VOID(CheckDigest(bytes, whole.offset()));
    bytes = bytes.first(bytes.size() - kDigestBytes);
  }
  ByteReader in(bytes.subspan(whole.offset()));
  LATTICE_TRY(const auto n_layers, in.Number<std::uint32_t>("number of layers"));
  if (n_layers == 0 || n_layers > in.left() / kLeastLayerBytes) {
    return in.Bad("number of layers",
                  std::to_string(n_layers) + " for " + std::to_string(in.left()) + " bytes");
  }
  std::string name;
  std::vector<std::string> inputs, outputs;
  if (version == 2) {
    LATTICE_TRY(name, in.Counted("name"));
    LATTICE_TRY(inputs, ReadNames(in, "input names"));
    LATTICE_TRY(outputs, ReadNames(in, "output names"));
  }
  std::vector<ParsedLayer> layers;
  for (std::uint32_t l = 0; l < n_layers; ++l) {
    auto layer = version == 1 ? ReadFirst(in) : ReadSecond(in);
    if (!layer) return std::move(layer).error().Within("layer " + std::to_string(l));
    layers.push_back(std::move(layer).value());
  }
  if (in.left() != 0) return in.Bad("end", std::to_string(in.left()) + " bytes too many");
  LATTICE_TRY(Network network, Assemble(std::move(layers)));
  if (const auto named = network.SetNames(std::move(name), std::move(inputs), std::move(outputs));
      !named) {
    return Error{ErrorCode::kCorruptData, named.error().message};
  }
  return network;
}

Status SaveNetwork(const Network& network, const std::filesystem::path& file, FileVersion version) {
  LATTICE_TRY(const std::string bytes, Serialise(network, version));
  return WriteFileAtomically(file, bytes);
}

Result<Network> LoadNetwork(const std::filesystem::path& file) {
  LATTICE_TRY(const std::string bytes, ReadFile(file, kMostFileBytes));
  auto network = ParseNetwork(std::as_bytes(std::span(bytes)));
  if (!network) return std::move(network).error().Within(file.string());
  return network;
}

}  // namespace lattice::fann
