#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "decoding/candidates.h"
#include "decoding/sampling_options.h"
#include "tokenizers/tokenizer.h"

namespace lattice::decoding {

/// The DRY penalty: against going on with something that stood in the window already. Linear in
/// the window.
class Dry {
 public:
  /// tokenizer  tells where sequence breakers are; may be null when there are none to look for.
  Dry(const SamplingOptions& options, std::shared_ptr<const tokenizers::Tokenizer> tokenizer);

  bool is_neutral() const { return multiplier_ == 0; }
  /// The next token of the text, in the prompt or after it.
  void Accept(TokenId id);
  /// window  the last tokens, all of them accepted.
  void Apply(std::span<const TokenId> window, Candidates& candidates);

 private:
  struct Repeat {
    TokenId id;            // the token that would extend it
    std::uint32_t length;  // without that token
  };

  bool EndsBreaker(std::string_view bytes) const;
  bool HoldsBreaker(TokenId id) const;
  void FindRepeats(std::span<const TokenId> window, std::uint32_t longest);

  float multiplier_, base_;
  std::size_t allowed_length_;
  std::vector<std::string> breakers_;
  std::shared_ptr<const tokenizers::Tokenizer> tokenizer_;
  std::string tail_;  // the last bytes of the text, in which a breaker may have begun
  std::size_t longest_breaker_ = 0;
  std::size_t n_since_breaker_ = 0;  // tokens
  std::vector<std::uint32_t> matches_;
  std::vector<Repeat> repeats_;
  std::vector<TokenId> ids_;
};

}  // namespace lattice::decoding
