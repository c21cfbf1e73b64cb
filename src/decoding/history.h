#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/token_id.h"

namespace lattice::decoding {

/// The last tokens of a text, at most `window` of them, without allocation after the first ones.
class History {
 public:
  explicit History(std::size_t window) : window_(window) { tokens_.reserve(2 * window); }

  void Add(TokenId id) {
    if (window_ == 0) return;
    if (tokens_.size() == 2 * window_) {
      tokens_.erase(tokens_.begin(), tokens_.end() - static_cast<std::ptrdiff_t>(window_) + 1);
    }
    tokens_.push_back(id);
  }
  /// The last n, or all that there are, oldest first.
  std::span<const TokenId> Last(std::size_t n) const {
    return std::span(tokens_).last(std::min({n, tokens_.size(), window_}));
  }

 private:
  std::size_t window_;
  std::vector<TokenId> tokens_;
};

}  // namespace lattice::decoding
