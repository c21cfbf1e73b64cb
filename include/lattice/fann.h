#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lattice/result.h"

/// Small dense networks: built, run, kept in files. Training is in lattice/fann_training.h.
///
/// All numbers are f32, matrices row-major without gaps. The same bits for a row alone and in a
/// batch, for any number of threads and any instruction set.
///
/// Errors of all functions  kInvalidArgument: sizes that do not match, a number that is not finite
/// or outside its range; the message names it.
namespace lattice::fann {

/// What a unit makes of its sum z.
enum class Activation : std::uint8_t {
  kLinear,
  kSigmoid,
  kTanh,
  kRelu,
  kLeakyRelu,  ///< z, or slope * z where z <= 0.
  kSoftmax,    ///< Of the whole row; in the last layer only.
  kGelu,       ///< In its form with tanh.
  kSilu,       ///< z * sigmoid(z)
};
std::string_view ActivationName(Activation activation);  ///< "leaky_relu", ...

/// How weights start; biases are zero. Both draw uniformly.
enum class Start : std::uint8_t {
  kAuto,    ///< He before the ReLU family, GELU and SiLU; Xavier before the others.
  kHe,      ///< Variance 2 / n_inputs.
  kXavier,  ///< Variance 2 / (n_inputs + n_outputs).
};

struct LayerOptions {
  float slope = 0.01f;      ///< Of leaky ReLU.
  bool layer_norm = false;  ///< Normalise each row of sums before the activation; has parameters.
  float dropout = 0.0f;     ///< Share of outputs that are zero, in training only; in [0, 1).
  Start start = Start::kAuto;
  std::string name = {};
};

/// A dense layer: activation(norm(inputs * weights^T + biases)).
struct LayerInfo {
  std::size_t n_inputs = 0, n_outputs = 0;
  Activation activation = Activation::kLinear;
  float slope = 0.01f;
  bool layer_norm = false;
  float dropout = 0.0f;
  std::string name = {};
};

struct NetworkData;  // of src/fann

/// Dense layers, one after another. Move-only; Clone copies.
class Network {
 public:
  /// n_outputs of one layer must be n_inputs of the next. All parameters are zero but for the gains
  /// of layer norms, which are 1. kResourceExhausted above 100 million weights a layer.
  static Result<Network> Create(std::vector<LayerInfo> layers);

  Network(Network&&) noexcept;
  Network& operator=(Network&&) noexcept;
  ~Network();
  Network Clone() const;

  std::size_t n_inputs() const;
  std::size_t n_outputs() const;
  std::size_t n_layers() const;
  std::size_t n_parameters() const;
  const LayerInfo& layer(std::size_t i) const;
  /// "64 -> relu 32 -> softmax 10"
  std::string Summary() const;

  /// All parameters, layer by layer: weights [n_outputs, n_inputs], biases [n_outputs] and, of a
  /// layer norm, gains and shifts [n_outputs].
  std::vector<float> Parameters() const;
  Status SetParameters(std::span<const float> values);

  /// For people; empty, or one of each input or output. Files of version 2 keep them.
  const std::string& name() const;
  const std::vector<std::string>& input_names() const;
  const std::vector<std::string>& output_names() const;
  Status SetNames(std::string name, std::vector<std::string> inputs,
                  std::vector<std::string> outputs);

  NetworkData& data() { return *data_; }  ///< For this library.
  const NetworkData& data() const { return *data_; }

 private:
  explicit Network(std::unique_ptr<NetworkData> data);
  std::unique_ptr<NetworkData> data_;
};

/// Collects layers; the first mistake is told by Build.
///
///   auto network = NetworkBuilder(64).Layer(32, Activation::kRelu).Layer(10, Activation::kSoftmax)
///                      .Build(/*seed=*/1);
class NetworkBuilder {
 public:
  explicit NetworkBuilder(std::size_t n_inputs) : n_inputs_(n_inputs) {}
  NetworkBuilder& Layer(std::size_t n_outputs, Activation activation, LayerOptions options = {});
  /// The same seed gives the same network everywhere.
  Result<Network> Build(std::uint64_t seed) const;

 private:
  std::size_t n_inputs_;
  std::vector<LayerInfo> layers_;
  std::vector<Start> starts_;
};

/// Where the work is done.
struct RunOptions {
  std::size_t n_threads = 1;         ///< With the caller; 0 = the processors this process may use.
  std::string instruction_set = {};  ///< Pins the kernels ("avx2", ...); empty: the best here.
};

/// Runs a network, which must outlive it. Has the memory that is needed: calls allocate nothing.
/// One thread at a time may use it; any number of them may run one network.
class Runner {
 public:
  static Result<Runner> Create(const Network& network, const RunOptions& options = {});
  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) noexcept;
  ~Runner();

  /// inputs [n, n_inputs], outputs [n, n_outputs]: matrix products, many rows at a time. Values
  /// that are not finite are an error; outputs are then undefined.
  Status Run(std::span<const float> inputs, std::span<float> outputs);

 private:
  struct State;
  explicit Runner(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Version 1 is the first Lattice's file, written byte for byte as it did: no names, no layer norm,
/// no GELU or SiLU (kUnsupported), and dropout, which does nothing outside training, is left out.
/// Version 2 keeps everything and ends in a SHA-256. docs/fann.md describes both.
enum class FileVersion : std::uint32_t { kFirst = 1, kSecond = 2 };

Result<std::string> Serialise(const Network& network, FileVersion version = FileVersion::kSecond);
/// Either version. kCorruptData says where; kUnsupported for later versions.
Result<Network> ParseNetwork(std::span<const std::byte> bytes);

/// Replaces `file` as a whole or not at all.
Status SaveNetwork(const Network& network, const std::filesystem::path& file,
                   FileVersion version = FileVersion::kSecond);
Result<Network> LoadNetwork(const std::filesystem::path& file);

}  // namespace lattice::fann
