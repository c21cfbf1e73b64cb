#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "apps/command.h"
#include "apps/progress_bar.h"

namespace lattice::apps {

LogSink AppContext::Log() const {
  if (quiet) return {};
  return [](LogLevel level, std::string_view message) {
    if (level == LogLevel::kDebug) return;
    const char* kind = level == LogLevel::kWarning ? "warning: " : "";
    std::fprintf(stderr, "lattice: %s%.*s\n", kind, static_cast<int>(message.size()),
                 message.data());
  };
}

hub::HubOptions AppContext::Hub() const {
  hub::HubOptions options;
  options.cache = environment.model_cache;
  options.endpoint = environment.hub_endpoint;
  options.token = environment.hub_token;
  options.offline = environment.offline;
  options.log = Log();
  if (!quiet) options.progress = MakeProgressSink(ProgressUnit::kBytes);
  options.stop = stop;
  return options;
}

Status Print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return Ok();
  return Error{errno == EPIPE ? ErrorCode::kCancelled : ErrorCode::kResourceExhausted,
               "cannot write to standard output"};
}

bool StdoutReaderLeft() {
  pollfd output{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

}  // namespace lattice::apps
