#include "chat/reasoning.h"

#include <algorithm>
#include <array>
#include <utility>

namespace lattice::chat {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kMarkers = {{
    {"<think>", "</think>"},
    {"[THINK]", "[/THINK]"},
    {"<|START_THINKING|>", "<|END_THINKING|>"},
    {"<seed:think>", "</seed:think>"},
}};
constexpr std::string_view kSpace = " \t\r\n";

// How many bytes at the end of `text` may be the beginning of `marker`.
std::size_t PartialMarker(std::string_view text, std::string_view marker) {
  for (std::size_t n = std::min(text.size(), marker.size() - 1); n > 0; --n) {
    if (text.ends_with(marker.substr(0, n))) return n;
  }
  return 0;
}

}  // namespace

std::optional<ReasoningMarkers> FindReasoningMarkers(std::string_view template_source) {
  for (const auto& [open, close] : kMarkers) {
    if (template_source.find(close) != std::string_view::npos) {
      return ReasoningMarkers{std::string(open), std::string(close)};
    }
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
  if (markers) markers_ = *std::move(markers);
}

SplitText ReasoningSplitter::Push(std::string_view piece) {
  SplitText out;
  held_ += piece;
  while (Advance(out)) {
  }
  return out;
}

SplitText ReasoningSplitter::Finish() {
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
