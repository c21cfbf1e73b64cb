#include "chat/reasoning.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "chat/marker_text.h"

namespace lattice::chat {
namespace {

struct KnownMarkers {
  std::string_view mark;  // what only templates of such models say
  std::string_view open, close, closing;
  std::initializer_list<const char*> tokens;
  bool channels = false;
};

const KnownMarkers kKnown[] = {
    {.mark = "</think>",
     .open = "<think>",
     .close = "</think>",
     .closing = "\n</think>\n\n",
     .tokens = {"<think>", "</think>"}},
    {.mark = "[/THINK]",
     .open = "[THINK]",
     .close = "[/THINK]",
     .closing = "[/THINK]",
     .tokens = {"[THINK]", "[/THINK]"}},
    {.mark = "<|END_THINKING|>",
     .open = "<|START_THINKING|>",
     .close = "<|END_THINKING|>",
     .closing = "<|END_THINKING|>",
     .tokens = {"<|START_THINKING|>", "<|END_THINKING|>"}},
    {.mark = "</seed:think>",
     .open = "<seed:think>",
     .close = "</seed:think>",
     .closing = "\n</seed:think>",
     .tokens = {"<seed:think>", "</seed:think>"}},
    {.mark = "<|channel>thought",
     .open = "<|channel>thought",
     .close = "<channel|>",
     .closing = "\n<channel|>",
     .tokens = {"<|channel>", "<channel|>"}},
    {.mark = "<|channel|>analysis",
     .open = "<|channel|>analysis<|message|>",
     .close = "<|end|>",
     .closing = "<|end|><|start|>assistant<|channel|>final<|message|>",
     .tokens = {"<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>"},
     .channels = true},
};
constexpr std::string_view kSpace = " \t\r\n";

}  // namespace

std::optional<ReasoningMarkers> FindReasoningMarkers(std::string_view template_source) {
  for (const KnownMarkers& known : kKnown) {
    if (template_source.find(known.mark) == std::string_view::npos) continue;
    return ReasoningMarkers{.open = std::string(known.open),
                            .close = std::string(known.close),
                            .closing = std::string(known.closing),
                            .tokens = {known.tokens.begin(), known.tokens.end()},
                            .channels = known.channels};
  }
  return std::nullopt;
}

bool OpensReasoning(const RenderedPrompt& prompt, const ReasoningMarkers& markers) {
  const std::string_view text(prompt.text);
  const std::size_t last = text.find_last_not_of(kSpace);
  if (last == std::string_view::npos || !text.substr(0, last + 1).ends_with(markers.open)) {
    return false;
  }
  const std::size_t begin = last + 1 - markers.open.size();
  return std::none_of(prompt.user_ranges.begin(), prompt.user_ranges.end(),
                      [&](ByteRange range) { return range.end > begin && range.begin <= last; });
}

ReasoningSplitter::ReasoningSplitter(std::optional<ReasoningMarkers> markers, bool starts_inside)
    : state_(!markers || markers->open.empty() || markers->close.empty() ? State::kAnswer
             : starts_inside                                             ? State::kReasoning
                                                                         : State::kStart) {
  if (!markers) return;
  markers_ = *std::move(markers);
  if (markers_.channels) channels_.emplace(starts_inside);
}

SplitText ReasoningSplitter::Push(std::string_view piece) {
  if (channels_) return channels_->Push(piece);
  SplitText out;
  held_ += piece;
  while (Advance(out)) {
  }
  return out;
}

SplitText ReasoningSplitter::Finish() {
  if (channels_) return channels_->Finish();
  SplitText out;
  if (state_ == State::kReasoning) {
    GiveReasoning(std::exchange(held_, {}), out);
  } else if (state_ != State::kAfterReasoning) {
    out.answer += std::exchange(held_, {});
  }
  return out;
}

// One step; false when more text is needed.
bool ReasoningSplitter::Advance(SplitText& out) {
  if (held_.empty()) return false;
  switch (state_) {
    case State::kStart:
      return AdvanceStart(out);
    case State::kReasoning:
      return AdvanceReasoning(out);
    case State::kAfterReasoning: {
      const std::size_t begin = held_.find_first_not_of(kSpace);
      if (begin == std::string::npos) return false;
      held_.erase(0, begin);
      state_ = State::kAnswer;
      return true;
    }
    case State::kAnswer:
      out.answer += std::exchange(held_, {});
      return false;
  }
  return false;
}

bool ReasoningSplitter::AdvanceStart(SplitText&) {
  const std::size_t begin = held_.find_first_not_of(kSpace);
  if (begin == std::string::npos) return false;
  const std::string_view text = std::string_view(held_).substr(begin);
  if (text.starts_with(markers_.open)) {
    held_.erase(0, begin + markers_.open.size());
    state_ = State::kReasoning;
    return true;
  }
  if (std::string_view(markers_.open).starts_with(text)) return false;
  state_ = State::kAnswer;
  return true;
}

bool ReasoningSplitter::AdvanceReasoning(SplitText& out) {
  const std::size_t close = held_.find(markers_.close);
  if (close != std::string::npos) {
    GiveReasoning(std::string_view(held_).substr(0, close), out);
    held_space_.clear();
    held_.erase(0, close + markers_.close.size());
    state_ = State::kAfterReasoning;
    return true;
  }
  const std::size_t certain = held_.size() - PartialMarker(held_, markers_.close);
  GiveReasoning(std::string_view(held_).substr(0, certain), out);
  held_.erase(0, certain);
  return false;
}

void ReasoningSplitter::GiveReasoning(std::string_view text, SplitText& out) {
  if (!any_reasoning_) {
    text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  }
  if (text.empty()) return;
  any_reasoning_ = true;
  const std::size_t last = text.find_last_not_of(kSpace);
  if (last == std::string_view::npos) {
    held_space_ += text;
    return;
  }
  out.reasoning += std::exchange(held_space_, {});
  out.reasoning += text.substr(0, last + 1);
  held_space_ += text.substr(last + 1);
}

}  // namespace lattice::chat
