#include "apps/chat_printer.h"

#include <cstdio>

#include "apps/command.h"

namespace lattice::apps {
namespace {

constexpr std::string_view kDim = "\x1b[2m", kPlain = "\x1b[0m";

}  // namespace

Status ChatPrinter::Dim(bool on) {
  if (dimmed_ == on) return Ok();
  dimmed_ = on;
  if (on) return Print(kDim);
  line_open_ = true;
  return Print(std::string(kPlain) + "\n\n");
}

Status ChatPrinter::Show(const ChatDelta& delta) {
  if (!delta.reasoning.empty() && terminal_) {
    LATTICE_TRY_VOID(Dim(true));
    LATTICE_TRY_VOID(Print(delta.reasoning));
    line_open_ = true;
  }
  if (delta.text.empty()) return Ok();
  LATTICE_TRY_VOID(Dim(false));
  line_open_ = !delta.text.ends_with('\n');
  return Print(delta.text);
}

Status ChatPrinter::Finish() {
  LATTICE_TRY_VOID(Dim(false));
  if (line_open_) LATTICE_TRY_VOID(Print("\n"));
  line_open_ = false;
  return Ok();
}

std::string UsageLine(const engine::GenerationUsage& usage) {
  char line[200];
  std::snprintf(line, sizeof(line),
                "%zu tokens in, %zu of them read before; %zu tokens out at %.1f/s, the first after "
                "%.2f s",
                usage.n_prompt, usage.n_cached, usage.n_generated, usage.decode_tokens_per_second(),
                usage.first_token_seconds);
  return line;
}

}  // namespace lattice::apps
