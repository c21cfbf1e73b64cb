#include <utility>

#include "chat/tools/call_reader.h"
#include "chat/tools/json_call.h"
#include "chat/tools/typed_value.h"

namespace lattice::chat {
namespace {

constexpr std::string_view kFunctionTag = "<function=", kParameterTag = "<parameter=";
constexpr std::string_view kEndFunctionTag = "</function>", kEndParameterTag = "</parameter>";
constexpr std::size_t kMaxNameBytes = 256, kMaxArguments = 1024;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// <function=NAME> <parameter=KEY>TEXT</parameter> ... </function>. A text ends where the mark of
/// its end is followed by another parameter or by the function's end: code that speaks of such
/// marks may stand in it. One line break at each end of a text is not part of it.
class XmlReader final : public CallReader {
 public:
  explicit XmlReader(const OfferedTools& tools) : tools_(tools) {}

  State Take(char c) override {
    switch (part_) {
      case Part::kFunction:
        return Match(c, kFunctionTag, Part::kName);
      case Part::kName:
        if (c != '>') return Add(c, name_);
        part_ = Part::kBetween;
        return IsCallName(name_) ? State::kMore : State::kBad;
      case Part::kBetween:
        return TakeBetween(c);
      case Part::kKey:
        if (c != '>') return Add(c, key_);
        part_ = Part::kText;
        return key_.empty() || ++n_arguments_ > kMaxArguments ? State::kBad : State::kMore;
      case Part::kText:
        held_ += c;
        if (held_.ends_with(kEndParameterTag)) {
          text_end_ = held_.size() - kEndParameterTag.size();
          tag_begin_ = held_.size();
          part_ = Part::kAfterText;
        }
        return State::kMore;
      case Part::kAfterText:
        return TakeAfterText(c);
    }
    return State::kBad;
  }

  std::vector<WrittenCall> TakeCalls() override {
    return {{std::move(name_), "{" + std::move(arguments_) + "}"}};
  }

 private:
  enum class Part { kFunction, kName, kBetween, kKey, kText, kAfterText };

  static State Add(char c, std::string& name) {
    name += c;
    return name.size() > kMaxNameBytes || c == '\n' || c == '<' ? State::kBad : State::kMore;
  }

  /// Space, then `tag`, whose beginning is held.
  State Match(char c, std::string_view tag, Part next) {
    if (held_.empty() && IsSpace(c)) return State::kMore;
    held_ += c;
    if (!tag.starts_with(held_)) return State::kBad;
    if (held_ == tag) {
      held_.clear();
      part_ = next;
    }
    return State::kMore;
  }

  State TakeBetween(char c) {
    if (held_.empty() && IsSpace(c)) return State::kMore;
    held_ += c;
    if (held_ == kEndFunctionTag) return State::kDone;
    if (held_ == kParameterTag) {
      held_.clear();
      part_ = Part::kKey;
      return State::kMore;
    }
    return kEndFunctionTag.starts_with(held_) || kParameterTag.starts_with(held_) ? State::kMore
                                                                                  : State::kBad;
  }

  State TakeAfterText(char c) {
    held_ += c;
    if (tag_begin_ + 1 == held_.size() && IsSpace(c)) {
      ++tag_begin_;
      return State::kMore;
    }
    const std::string_view tag = std::string_view(held_).substr(tag_begin_);
    if (tag == kEndFunctionTag || tag == kParameterTag) {
      const bool ends = tag == kEndFunctionTag;
      EndArgument();
      part_ = Part::kKey;
      return ends ? State::kDone : State::kMore;
    }
    if (kEndFunctionTag.starts_with(tag) || kParameterTag.starts_with(tag)) return State::kMore;
    // It was text. Another mark of an end may be on its way, but none is complete.
    part_ = Part::kText;
    return State::kMore;
  }

  void EndArgument() {
    std::string_view text = std::string_view(held_).substr(0, text_end_);
    if (text.starts_with('\n')) text.remove_prefix(1);
    if (text.ends_with('\n')) text.remove_suffix(1);
    if (!arguments_.empty()) arguments_ += ", ";
    arguments_ += JsonQuoted(key_) + ": " + TypedValue(text, key_, tools_.Parameters(name_));
    key_.clear();
    held_.clear();
  }

  const OfferedTools& tools_;
  Part part_ = Part::kFunction;
  std::string name_, key_, arguments_;
  std::string held_;                          // a tag in the making, or a parameter's text
  std::size_t text_end_ = 0, tag_begin_ = 0;  // in held_, behind a text
  std::size_t n_arguments_ = 0;
};

}  // namespace

CallGrammar XmlGrammar() {
  return {{{.text = "<tool_call>"}, {.text = "<function=", .is_part = true}},
          "</tool_call>",
          [](const OfferedTools& tools) -> std::unique_ptr<CallReader> {
            return std::make_unique<XmlReader>(tools);
          }};
}

}  // namespace lattice::chat
