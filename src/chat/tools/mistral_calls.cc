#include "chat/tools/call_reader.h"
#include "chat/tools/json_call_reader.h"

namespace lattice::chat {
namespace {

constexpr std::string_view kArguments = "[ARGS]", kCallId = "[CALL_ID]";

/// A list of calls in JSON, or NAME, perhaps an id, and the arguments in JSON. The model's ids are
/// not used: they are not unique.
class MistralReader final : public CallReader {
 public:
  State Take(char c) override {
    if (part_ == Part::kJson) return TakeJson(c);
    if (head_.empty() && JsonCallReader::IsSpace(c)) return State::kMore;
    if (head_.empty() && c == '[') {
      part_ = Part::kJson;
      return TakeJson(c);
    }
    if (c == '{') {
      if (!EndHead()) return State::kBad;
      part_ = Part::kJson;
      return TakeJson(c);
    }
    head_ += c;
    return head_.size() > kMaxHeadBytes ? State::kBad : State::kMore;
  }

  std::vector<WrittenCall> TakeCalls() override { return std::move(calls_); }

 private:
  enum class Part { kHead, kJson };
  static constexpr std::size_t kMaxHeadBytes = 256;

  /// NAME, NAME[ARGS] or NAME[CALL_ID]id[ARGS], perhaps with space behind.
  bool EndHead() {
    std::string_view head = head_;
    while (!head.empty() && JsonCallReader::IsSpace(head.back())) head.remove_suffix(1);
    if (head.ends_with(kArguments)) head.remove_suffix(kArguments.size());
    head = head.substr(0, head.find(kCallId));
    while (!head.empty() && JsonCallReader::IsSpace(head.back())) head.remove_suffix(1);
    name_ = head;
    return IsCallName(name_);
  }

  State TakeJson(char c) {
    const JsonEnd::State state = json_.Take(c);
    if (state == JsonEnd::State::kBad) return State::kBad;
    if (state == JsonEnd::State::kMore) return State::kMore;
    if (name_.empty()) {
      calls_ = CallsFromJson(json_.text());
    } else if (IsJsonObject(json_.text())) {
      calls_.push_back({name_, json_.text()});
    }
    return calls_.empty() ? State::kBad : State::kDone;
  }

  Part part_ = Part::kHead;
  std::string head_, name_;
  JsonEnd json_;
  std::vector<WrittenCall> calls_;
};

}  // namespace

CallGrammar MistralGrammar() {
  return {{{.text = "[TOOL_CALLS]"}}, "", [](const OfferedTools&) -> std::unique_ptr<CallReader> {
            return std::make_unique<MistralReader>();
          }};
}

}  // namespace lattice::chat
