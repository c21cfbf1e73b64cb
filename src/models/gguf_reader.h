#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lattice/result.h"
#include "weights/checkpoint.h"

namespace lattice::models {

/// Keys ARCHITECTURE.NAME of a GGUF file.
class GgufReader {
 public:
  GgufReader(const weights::Checkpoint& checkpoint, std::string architecture)
      : checkpoint_(checkpoint), architecture_(std::move(architecture)) {}

  const std::string& architecture() const { return architecture_; }
  bool Has(std::string_view name) const { return data().Has(Key(name)); }
  bool HasTensor(std::string_view name) const { return checkpoint_.Find(name) != nullptr; }

  Result<std::uint64_t> Uint(std::string_view name) const { return data().GetUint(Key(name)); }
  Result<std::uint64_t> UintOr(std::string_view name, std::uint64_t fallback) const {
    return data().UintOr(Key(name), fallback);
  }
  Result<double> FloatOr(std::string_view name, double fallback) const {
    return data().FloatOr(Key(name), fallback);
  }
  Result<double> Float(std::string_view name) const { return data().GetFloat(Key(name)); }
  Result<std::string_view> StringOr(std::string_view name, std::string_view fallback) const {
    return data().StringOr(Key(name), fallback);
  }
  /// A number for each layer; one number stands for all.
  Result<std::vector<std::uint64_t>> PerLayer(std::string_view name, std::size_t n) const {
    return data().GetUintPerLayer(Key(name), n);
  }
  /// A flag for each layer: an array of flags or of numbers.
  Result<std::vector<bool>> Flags(std::string_view name, std::size_t n) const;
  bool IsArray(std::string_view name) const;

  /// Rows of the embedding table, layers, widths, heads, the length of texts, the norms' epsilon,
  /// and whether the head is tied.
  Status ReadCommon(boost::json::object& config);
  std::size_t n_layers() const { return n_layers_; }
  /// Layers, and blocks behind them that predict further tokens.
  std::size_t n_blocks() const { return n_blocks_; }
  std::size_t hidden() const { return hidden_; }
  std::size_t n_heads() const { return n_heads_; }
  std::size_t head_dim() const { return head_dim_; }

  /// rope_parameters of the layers whose base is at `base_key`: the base, the part of a head that
  /// turns, and, where they are `scaled`, the scaling.
  Result<boost::json::object> ReadRope(std::string_view base_key, double default_base,
                                       bool scaled) const;

 private:
  std::string Key(std::string_view name) const { return architecture_ + "." + std::string(name); }
  const weights::GgufMetadata& data() const { return *checkpoint_.gguf(); }
  Status ReadScaling(boost::json::object& rope) const;

  const weights::Checkpoint& checkpoint_;
  std::string architecture_;
  std::size_t n_layers_ = 0, n_blocks_ = 0, hidden_ = 0, n_heads_ = 0, head_dim_ = 0,
              max_tokens_ = 0;
};

}  // namespace lattice::models
