#pragma once

#include <string>
#include <string_view>

#include "apps/chat_session.h"
#include "lattice/result.h"

namespace lattice::apps {

/// Shows answers as they come: plain text on stdout; thinking dimmed on a terminal, and left out
/// where a program reads.
class ChatPrinter {
 public:
  explicit ChatPrinter(bool stdout_is_terminal) : terminal_(stdout_is_terminal) {}

  Status Show(const ChatDelta& delta);
  /// The end of an answer: the last line's end.
  Status Finish();

 private:
  Status Dim(bool on);

  bool terminal_;
  bool dimmed_ = false;
  bool line_open_ = false;
};

/// "12 tokens in, 8 read before; 40 tokens at 51.3/s, the first after 0.12 s"
std::string UsageLine(const engine::GenerationUsage& usage);

}  // namespace lattice::apps
