#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <span>
#include <stop_token>
#include <string>

#include "apps/environment.h"
#include "apps/interrupt.h"
#include "base/log.h"
#include "hub/hub.h"
#include "lattice/result.h"

namespace lattice::apps {

/// What every command gets: the environment, and the flags that all commands share.
struct AppContext {
  Environment environment;      ///< Flags have replaced its values where they were given.
  bool quiet = false;           ///< No progress and no remarks on stderr; errors stay.
  std::string instruction_set;  ///< --cpu; empty: the best of this machine.
  std::stop_token stop;         ///< Requested by the first Ctrl-C.
  InterruptWatcher* interrupts = nullptr;

  /// Remarks on stderr, unless quiet.
  LogSink Log() const;
  /// What the hub room wants, with log and progress on stderr.
  hub::HubOptions Hub() const;
};

/// Runs a command whose arguments have been parsed. An error is printed by main: exit status 1.
using Action = std::function<Status()>;

/// One sub-command. `declare` adds its arguments and returns what runs if it is chosen; the context
/// is filled in by then.
struct Command {
  const char* name;
  const char* summary;
  Action (*declare)(CLI::App& arguments, const AppContext& context);
};

/// All sub-commands, in the order in which --help lists them.
std::span<const Command> Commands();

/// Writes to stdout. kResourceExhausted when that fails: a full disk; kCancelled when the reader of
/// the pipe has left (`lattice ... | head`).
Status Print(std::string_view text);

/// Whether stdout is a pipe or socket that nobody reads any more.
bool StdoutReaderLeft();

}  // namespace lattice::apps
