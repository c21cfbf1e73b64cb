#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "lattice/result.h"
#include "models/decoder_fields.h"
#include "models/qwen3_5_config.h"
#include "weights/gguf_writer.h"

namespace lattice::models {

/// Keys ARCHITECTURE.NAME on their way into a file.
class GgufKeys {
 public:
  GgufKeys(std::string_view architecture, weights::GgufPairs& pairs)
      : prefix_(std::string(architecture) + "."), pairs_(pairs) {}

  void Size(std::string_view name, std::size_t value) {
    pairs_.SetUint32(prefix_ + std::string(name), static_cast<std::uint32_t>(value));
  }
  void Number(std::string_view name, double value) {
    pairs_.SetFloat(prefix_ + std::string(name), static_cast<float>(value));
  }
  void Text(std::string_view name, std::string_view value) {
    pairs_.SetString(prefix_ + std::string(name), value);
  }
  void Ints(std::string_view name, const std::vector<std::int32_t>& values) {
    pairs_.SetInt32s(prefix_ + std::string(name), values);
  }
  void Flags(std::string_view name, const std::vector<bool>& values) {
    pairs_.SetBools(prefix_ + std::string(name), values);
  }

 private:
  std::string prefix_;
  weights::GgufPairs& pairs_;
};

/// The keys of Llama, Qwen2, Qwen3 and both Gemmas. What such a file cannot say is kUnsupported.
/// `divisors` gets those of the rotary frequencies where the file has them as a tensor.
Status WriteDecoderKeys(const TextConfig& text, const DecoderConfig& decoder,
                        std::string_view architecture, weights::GgufPairs& pairs,
                        std::vector<float>& divisors);

/// The keys of Qwen3.5 and its mixtures.
Status WriteQwen35Keys(const TextConfig& text, const Qwen35Config& model,
                       std::string_view architecture, weights::GgufPairs& pairs);

}  // namespace lattice::models
