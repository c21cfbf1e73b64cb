#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "lattice/result.h"

namespace lattice::tokenizers {

/// One step from tokens back to text; the text is what the strings of the last step make together.
/// Immutable.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Errors  kInvalidArgument when a regular expression gives up on the text.
  virtual Status Apply(std::vector<std::string>& tokens) const = 0;
};

/// The "decoder" object of a tokenizer.json.
/// Errors  kUnsupported names an unknown type and the known ones; kCorruptData names the key.
Result<std::unique_ptr<Decoder>> MakeDecoder(const JsonView& spec);

}  // namespace lattice::tokenizers
