#include "chat/tools/call_reader.h"
#include "chat/tools/json_call_reader.h"

namespace lattice::chat {
namespace {

class HermesReader final : public CallReader {
 public:
  State Take(char c) override { return json_.Take(c); }
  std::vector<WrittenCall> TakeCalls() override { return json_.TakeCalls(); }

 private:
  JsonCallReader json_;
};

}  // namespace

CallGrammar HermesGrammar() {
  return {{{.text = "<tool_call>"}},
          "</tool_call>",
          [](const OfferedTools&) -> std::unique_ptr<CallReader> {
            return std::make_unique<HermesReader>();
          }};
}

}  // namespace lattice::chat
