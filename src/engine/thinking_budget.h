#pragma once

#include <cstddef>
#include <optional>

#include "base/token_id.h"
#include "engine/generation.h"

namespace lattice::engine {

/// Counts the tokens of thinking and, past the limit, says which tokens come instead.
class ThinkingBudget {
 public:
  explicit ThinkingBudget(const ThinkingLimit& limit)
      : limit_(limit), inside_(limit.begins_inside) {}

  /// The token that must come next, if the limit has been reached.
  std::optional<TokenId> Forced() const {
    if (n_closed_ < limit_.closing.size() && (n_closed_ > 0 || Exhausted())) {
      return limit_.closing[n_closed_];
    }
    return std::nullopt;
  }

  /// The token that the text goes on with, forced or not.
  void Accept(TokenId id) {
    if (n_closed_ > 0 || Exhausted()) {
      ++n_closed_;
      if (n_closed_ >= limit_.closing.size()) {
        inside_ = false;
        n_closed_ = 0;
      }
      return;
    }
    if (Opens(id)) {
      inside_ = true;
    } else if (id == limit_.close) {
      inside_ = false;
    } else if (inside_) {
      ++n_thought_;
    }
  }

 private:
  /// Whether the mark that begins thinking is complete with this token. Its first token stands
  /// nowhere else in it.
  bool Opens(TokenId id) {
    if (limit_.open.empty()) return false;
    n_opened_ = id == limit_.open[n_opened_] ? n_opened_ + 1 : (id == limit_.open[0] ? 1 : 0);
    if (n_opened_ < limit_.open.size()) return false;
    n_opened_ = 0;
    return true;
  }
  bool Exhausted() const { return inside_ && n_thought_ >= limit_.max_tokens; }

  const ThinkingLimit& limit_;
  bool inside_;
  std::size_t n_opened_ = 0;  // tokens of the mark that have just been said
  std::size_t n_thought_ = 0;
  std::size_t n_closed_ = 0;
};

}  // namespace lattice::engine
