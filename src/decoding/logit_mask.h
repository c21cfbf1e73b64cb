#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/token_id.h"
#include "lattice/result.h"

namespace lattice::decoding {

/// Says before each step which tokens may come next: the hook for structured output. One mask
/// belongs to one text and is used by one thread at a time.
class LogitMask {
 public:
  virtual ~LogitMask() = default;

  /// Clears the bits of tokens that may not come next.
  ///
  /// allowed  one bit a token: bit id % 64 of word id / 64, set but for tokens that may not come
  ///          anyway. Bits past the vocabulary are ignored.
  virtual Status Fill(std::span<std::uint64_t> allowed) = 0;

  /// The token that has come. Errors  kInvalidArgument when Fill would not have allowed it.
  virtual Status Accept(TokenId id) = 0;

  /// The only token that Fill leaves of all, where that is so and easily known.
  virtual Result<std::optional<TokenId>> Forced() { return std::optional<TokenId>(); }

  /// Nothing but the end of the text may come: it need not be asked for.
  virtual bool IsOver() const { return false; }
};

}  // namespace lattice::decoding
