#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "decoding/forced_token.h"
#include "decoding/logit_mask.h"
#include "grammar/matcher.h"
#include "lattice/result.h"
#include "tokenizers/tokenizer.h"

namespace lattice::decoding {

/// The tokens around a model's thinking, which no grammar holds.
struct ThinkingMarks {
  std::optional<TokenId> open;  ///< May come first; absent: the model may not begin to think.
  TokenId close = -1;
  bool begins_inside = false;  ///< The prompt has opened it.
};

/// kUnsupported when `close` is not one token.
Result<ThinkingMarks> FindThinkingMarks(const tokenizers::Tokenizer& tokenizer,
                                        std::string_view open, std::string_view close,
                                        bool begins_inside, bool may_open);

/// Holds a text to a grammar: from its beginning, or from the end of its thinking. An end token may
/// come once the text is one of the grammar's; special tokens and ids without text never. Where the
/// grammar leaves the text no choice, one token is left; see ForcedTokens.
class GrammarMask final : public LogitMask {
 public:
  /// tokenizer   whose tokens the automaton's vocabulary has.
  /// end_tokens  end the answer; none: it goes on until nothing may follow.
  GrammarMask(std::shared_ptr<grammar::Automaton> automaton,
              std::shared_ptr<const tokenizers::Tokenizer> tokenizer,
              std::vector<TokenId> end_tokens, std::optional<ThinkingMarks> thinking = {});

  /// kResourceExhausted when the text is past the automaton's limits.
  Status Fill(std::span<std::uint64_t> allowed) override;
  Result<std::optional<TokenId>> Forced() override;
  Status Accept(TokenId id) override;
  bool IsOver() const override;

 private:
  enum class Place {
    kStart,     // thinking may begin, or the text
    kThinking,  // anything but the end
    kGap,       // line ends between thinking and text
    kText,
    kEnd,
  };
  bool IsEnd(TokenId id) const;
  bool IsGap(TokenId id) const;

  grammar::Matcher matcher_;
  std::shared_ptr<const grammar::Vocabulary> vocabulary_;
  ForcedTokens forced_;
  std::optional<std::optional<TokenId>> forced_now_;  // what Forced said since the last token
  std::vector<TokenId> end_tokens_;
  std::optional<ThinkingMarks> thinking_;
  Place place_;
  std::size_t n_gap_ = 0;  // line ends so far
};

}  // namespace lattice::decoding
