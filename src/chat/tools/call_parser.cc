#include "chat/tools/call_parser.h"

#include <algorithm>
#include <utility>

#include "chat/marker_text.h"

namespace lattice::chat {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::size_t kMaxNameBytes = 128;

}  // namespace

bool IsCallName(std::string_view name) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/";
  return !name.empty() && name.size() <= kMaxNameBytes &&
         name.find_first_not_of(kLetters) == name.npos;
}

CallGrammar GrammarOf(CallForm form) {
  switch (form) {
    case CallForm::kHermes:
      return HermesGrammar();
    case CallForm::kXml:
      return XmlGrammar();
    case CallForm::kLlama:
      return LlamaGrammar();
    case CallForm::kGemma:
      return GemmaGrammar();
    case CallForm::kMistral:
      break;
  }
  return MistralGrammar();
}

CallParser::CallParser(CallForm form, std::shared_ptr<const OfferedTools> tools)
    : grammar_(GrammarOf(form)), tools_(std::move(tools)) {}

std::vector<AnswerPiece> CallParser::Push(std::string_view piece) {
  Pieces out;
  for (const char c : piece) Take(c, out);
  return out;
}

std::vector<AnswerPiece> CallParser::Finish() {
  Pieces out;
  reader_.reset();
  GiveText(std::exchange(raw_, {}), out);
  GiveText(std::exchange(held_, {}), out);
  if (!after_call_ && !space_.empty()) out.push_back({std::exchange(space_, {})});
  return out;
}

void CallParser::Take(char c, Pieces& out) {
  if (reader_ != nullptr) return TakeInCall(c, out);
  if (may_close_ && TakeAfterCall(c)) return;
  TakeText(c, out);
}

/// Drops a closer; what is no part of one is given back by false, with what was held before it.
bool CallParser::TakeAfterCall(char c) {
  if (held_.empty() && kSpace.find(c) != kSpace.npos) {
    space_ += c;
    return true;
  }
  if (grammar_.closer.substr(0, held_.size() + 1) == held_ + c) {
    held_ += c;
    if (held_ == grammar_.closer) {
      held_.clear();
      space_.resize(n_space_);  // What stands between call and closer belongs to them.
      may_close_ = false;
    }
    return true;
  }
  may_close_ = false;
  return false;
}

void CallParser::TakeText(char c, Pieces& out) {
  held_ += c;
  std::size_t undecided = 0;
  for (const CallOpener& opener : grammar_.openers) {
    if (opener.only_at_start && any_text_) continue;
    if (held_.ends_with(opener.text)) {
      const std::size_t n_before = held_.size() - opener.text.size();
      const bool blank = held_.find_first_not_of(kSpace) >= n_before;
      if (!opener.only_at_start || blank) return Begin(opener, out);
    }
    undecided = std::max(undecided, PartialMarker(held_, opener.text));
  }
  GiveText(std::string_view(held_).substr(0, held_.size() - undecided), out);
  held_.erase(0, held_.size() - undecided);
}

void CallParser::Begin(const CallOpener& opener, Pieces& out) {
  GiveText(std::string_view(held_).substr(0, held_.size() - opener.text.size()), out);
  held_.clear();
  raw_ = opener.text;
  reader_ = grammar_.make_reader(*tools_);
  if (!opener.is_part) return;
  for (const char c : opener.text) (void)reader_->Take(c);  // More is needed: it is a beginning.
}

void CallParser::TakeInCall(char c, Pieces& out) {
  switch (reader_->Take(c)) {
    case CallReader::State::kMore:
      raw_ += c;
      return;
    case CallReader::State::kDone:
      for (WrittenCall& call : reader_->TakeCalls()) out.push_back({{}, std::move(call)});
      raw_.clear();
      reader_.reset();
      any_call_ = after_call_ = true;
      may_close_ = !grammar_.closer.empty();
      n_space_ = space_.size();
      return;
    case CallReader::State::kBad:
      reader_.reset();
      GiveText(std::exchange(raw_, {}), out);
      TakeText(c, out);  // It may begin another one.
      return;
  }
}

void CallParser::GiveText(std::string_view text, Pieces& out) {
  const std::size_t end = text.find_last_not_of(kSpace) + 1;
  if (end > 0) {
    std::string shown = std::exchange(space_, {});
    if (any_call_ && !any_text_) shown.clear();
    shown += text.substr(0, end);
    any_text_ = true;
    after_call_ = false;
    if (!out.empty() && !out.back().is_call()) {
      out.back().text += shown;
    } else {
      out.push_back({std::move(shown)});
    }
  }
  space_ += text.substr(end);
}

}  // namespace lattice::chat
