#include "chat/channel_splitter.h"

#include <algorithm>
#include <array>
#include <utility>

#include "chat/marker_text.h"

namespace lattice::chat {
namespace {

constexpr std::string_view kStart = "<|start|>", kChannel = "<|channel|>", kMessage = "<|message|>";
constexpr std::array<std::string_view, 3> kEnds = {"<|end|>", "<|return|>", "<|call|>"};
/// Who is called may stand before the channel.
constexpr std::array<std::string_view, 3> kHeaders = {kStart, kChannel, " to="};
constexpr std::string_view kSpace = " \t\r\n";
constexpr std::size_t kMaxHeaderBytes = 1024;  // roles and names are short: longer is text

/// The word after the channel marker; empty if there is none.
std::string_view ChannelOf(std::string_view header) {
  const std::size_t at = header.find(kChannel);
  if (at == header.npos) return {};
  const std::string_view rest = header.substr(at + kChannel.size());
  return rest.substr(0, rest.find_first_of(" \t\r\n<"));
}

}  // namespace

SplitText ChannelSplitter::Push(std::string_view piece) {
  SplitText out;
  held_ += piece;
  while (Advance(out)) {
  }
  return out;
}

SplitText ChannelSplitter::Finish() {
  SplitText out;
  if (state_ == State::kStart) state_ = State::kAnswer;
  if (state_ == State::kReasoning || state_ == State::kAnswer) Give(held_, out);
  held_.clear();
  return out;
}

// One step; false when more text is needed.
bool ChannelSplitter::Advance(SplitText& out) {
  if (held_.empty()) return false;
  switch (state_) {
    case State::kStart:
      return AdvanceToHeader();
    case State::kBetween:
      held_.erase(0, std::min(held_.find_first_not_of(kSpace), held_.size()));
      return AdvanceToHeader();
    case State::kHeader:
      return AdvanceHeader();
    case State::kReasoning:
    case State::kAnswer:
      return AdvanceMessage(out);
  }
  return false;
}

bool ChannelSplitter::AdvanceToHeader() {
  for (const std::string_view begin : kHeaders) {
    if (held_.starts_with(begin)) {
      state_ = State::kHeader;
      return true;
    }
  }
  if (std::ranges::any_of(kHeaders, [&](std::string_view h) { return h.starts_with(held_); })) {
    return false;
  }
  new_message_ = true;
  state_ = State::kAnswer;
  return true;
}

bool ChannelSplitter::AdvanceHeader() {
  const std::size_t end = held_.find(kMessage);
  if (end == held_.npos && held_.size() <= kMaxHeaderBytes) return false;
  new_message_ = true;
  if (end == held_.npos) {
    state_ = State::kAnswer;
    return true;
  }
  const bool thinks = ChannelOf(std::string_view(held_).substr(0, end)) == "analysis";
  state_ = thinks ? State::kReasoning : State::kAnswer;
  held_.erase(0, end + kMessage.size());
  return true;
}

bool ChannelSplitter::AdvanceMessage(SplitText& out) {
  std::size_t end = held_.find(kStart), next = end;  // the next header may come without an end
  for (const std::string_view marker : kEnds) {
    const std::size_t at = held_.find(marker);
    if (at < end) end = at, next = at + marker.size();
  }
  if (end != held_.npos) {
    Give(std::string_view(held_).substr(0, end), out);
    held_.erase(0, next);
    state_ = State::kBetween;
    return true;
  }
  std::size_t partial = PartialMarker(held_, kStart);
  for (const std::string_view marker : kEnds) {
    partial = std::max(partial, PartialMarker(held_, marker));
  }
  Give(std::string_view(held_).substr(0, held_.size() - partial), out);
  held_.erase(0, held_.size() - partial);
  return false;
}

void ChannelSplitter::Give(std::string_view text, SplitText& out) {
  if (text.empty()) return;
  const bool thinks = state_ == State::kReasoning;
  std::string& part = thinks ? out.reasoning : out.answer;
  bool& any = thinks ? any_reasoning_ : any_answer_;
  if (std::exchange(new_message_, false) && any) part += "\n\n";
  any = true;
  part += text;
}

}  // namespace lattice::chat
