#include <algorithm>
#include <array>

#include "chat/tools/call_reader.h"
#include "chat/tools/json_call_reader.h"

namespace lattice::chat {
namespace {

/// What a call's object may begin with. Other objects are answers in JSON.
constexpr std::array<std::string_view, 5> kFirstKeys = {"{\"name\"", "{\"type\"", "{\"function\"",
                                                        "{\"parameters\"", "{\"arguments\""};

/// Nothing but the text itself says that it is a call. So it must name a tool that was offered, and
/// an object that begins with another key is given up at once.
class LlamaReader final : public CallReader {
 public:
  explicit LlamaReader(const OfferedTools& tools) : tools_(tools) {}

  State Take(char c) override {
    const State state = json_.Take(c);
    if (state == State::kMore) return CanBegin(c) ? State::kMore : State::kBad;
    if (state == State::kBad) return state;
    const bool known = std::ranges::all_of(
        json_.calls(), [&](const WrittenCall& call) { return tools_.Has(call.name); });
    return known ? State::kDone : State::kBad;
  }
  std::vector<WrittenCall> TakeCalls() override { return json_.TakeCalls(); }

 private:
  bool CanBegin(char c) {
    if (begun_ || JsonCallReader::IsSpace(c)) return true;
    begin_ += c;
    begun_ = std::ranges::find(kFirstKeys, begin_) != kFirstKeys.end();
    return std::ranges::any_of(kFirstKeys, [&](auto key) { return key.starts_with(begin_); });
  }

  const OfferedTools& tools_;
  JsonCallReader json_;
  std::string begin_;  // of the object, without space
  bool begun_ = false;
};

}  // namespace

CallGrammar LlamaGrammar() {
  return {{{.text = "<|python_tag|>"}, {.text = "{", .is_part = true, .only_at_start = true}},
          ";",
          [](const OfferedTools& tools) -> std::unique_ptr<CallReader> {
            return std::make_unique<LlamaReader>(tools);
          }};
}

}  // namespace lattice::chat
