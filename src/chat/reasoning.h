#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/channel_splitter.h"
#include "chat/chat_template.h"
#include "chat/split_text.h"

namespace lattice::chat {

/// What a model writes around its thinking.
struct ReasoningMarkers {
  std::string open;
  std::string close;
  std::string closing = {};  ///< What ends thinking early: `close`, and what the model writes then.
  std::vector<std::string> tokens = {};  ///< The tokens that make up the markers.
  bool channels = false;                 ///< Every part is marked: see ChannelSplitter.
};

/// The markers that a template's text mentions ("<think>", "[THINK]", "<|channel|>", ...), if any.
std::optional<ReasoningMarkers> FindReasoningMarkers(std::string_view template_source);

/// Whether the prompt ends inside an opened thinking part, so that the answer begins with thinking
/// and only its end will be marked. What a user typed does not count.
bool OpensReasoning(const RenderedPrompt& prompt, const ReasoningMarkers& markers);

/// Splits generated text into thinking and answer while it comes. Thinking is what stands between
/// the markers at the very beginning (space may precede); a marker elsewhere is text. Space inside
/// the markers and between the close marker and the answer is dropped. Whatever pieces the text
/// comes in, the parts are the same in the end, and no part of a marker is ever given out. Models
/// that speak in channels are left to ChannelSplitter.
class ReasoningSplitter {
 public:
  /// `starts_inside`: see OpensReasoning. Without markers everything is answer.
  ReasoningSplitter(std::optional<ReasoningMarkers> markers, bool starts_inside);

  /// What has become certain by this piece; the rest is held back.
  SplitText Push(std::string_view piece);
  /// What was held back; a marker that never became whole is text.
  SplitText Finish();

  bool in_reasoning() const {
    return channels_ ? channels_->in_reasoning() : state_ == State::kReasoning;
  }

 private:
  enum class State { kStart, kReasoning, kAfterReasoning, kAnswer };
  bool Advance(SplitText& out);
  bool AdvanceStart(SplitText& out);
  bool AdvanceReasoning(SplitText& out);
  void GiveReasoning(std::string_view text, SplitText& out);

  ReasoningMarkers markers_;
  std::optional<ChannelSplitter> channels_;  // does all the work where there are channels
  State state_;
  std::string held_;            // not yet decided
  std::string held_space_;      // of the thinking: dropped if the close marker follows
  bool any_reasoning_ = false;  // leading space is over
};

}  // namespace lattice::chat
