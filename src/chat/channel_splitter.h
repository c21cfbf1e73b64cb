#pragma once

#include <string>
#include <string_view>

#include "chat/split_text.h"

namespace lattice::chat {

/// Splits what a model says in channels, while it comes:
///   <|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final<|message|>...
/// Messages of the channel "analysis" are thinking, those of all others the answer; what stands
/// between a message's end and the next one's text is dropped. Several messages of a kind are
/// joined by an empty line. A text that does not begin with a header is answer. Whatever pieces the
/// text comes in, the parts are the same in the end, and no part of a marker is ever given out.
///
/// Source  the "harmony" response format of gpt-oss, as its chat template writes it.
class ChannelSplitter {
 public:
  /// `starts_inside`: the text begins in a message of thinking.
  explicit ChannelSplitter(bool starts_inside)
      : state_(starts_inside ? State::kReasoning : State::kStart) {}

  SplitText Push(std::string_view piece);
  /// What was held back; a header that never became whole is dropped, a marker is text.
  SplitText Finish();

  bool in_reasoning() const { return state_ == State::kReasoning; }

 private:
  enum class State { kStart, kHeader, kReasoning, kAnswer, kBetween };
  bool Advance(SplitText& out);
  bool AdvanceToHeader();
  bool AdvanceHeader();
  bool AdvanceMessage(SplitText& out);
  void Give(std::string_view text, SplitText& out);

  State state_;
  std::string held_;                                 // not yet decided
  bool any_reasoning_ = false, any_answer_ = false;  // of earlier messages or this one
  bool new_message_ = false;                         // nothing of this message was given out
};

}  // namespace lattice::chat
