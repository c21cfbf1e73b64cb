#include <signal.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "apps/bracketed_arguments.h"
#include "apps/command.h"
#include "apps/environment.h"
#include "apps/interrupt.h"

namespace lattice::apps {
namespace {

constexpr int kFailure = 1;
constexpr int kUsage = 2;

constexpr const char* kExamples = R"(
Examples:
  lattice chat
  lattice pull all-minilm-l6-v2
  lattice models
  lattice show all-minilm-l6-v2 --json
  lattice rm all-minilm-l6-v2

MODEL is a folder, a .gguf file, a known name (lattice models --known) or OWNER/NAME on the hub.
Environment: LATTICE_MODEL_CACHE, LATTICE_WEIGHT_CACHE, LATTICE_OFFLINE, HF_ENDPOINT, HF_TOKEN,
LATTICE_API_KEYS; flags win over it.
Exit status: 0 success, 1 failure, 2 wrong usage.)";

int PrintError(const Error& error, int status) {
  std::fprintf(stderr, "lattice: %s\n", error.message.c_str());
  return status;
}

void DeclareSharedFlags(CLI::App& app, AppContext& context) {
  app.add_flag("-q,--quiet", context.quiet, "No progress and no remarks on stderr");
  app.add_flag("--offline", context.environment.offline, "Never use the network");
  app.add_option("--model-cache", context.environment.model_cache,
                 "Folder of pulled models (LATTICE_MODEL_CACHE)")
      ->type_name("FOLDER");
  app.add_option("--cpu", context.instruction_set,
                 "Pin the instruction set, for tests and bug reports (avx2, scalar, ...)")
      ->type_name("NAME");
}

/// Prints help, version or a complaint about the arguments.
int PrintParseResult(const CLI::App& app, const CLI::ParseError& error) {
  return app.exit(error) == 0 ? 0 : kUsage;
}

int Run(int argc, char** argv) {
  InterruptWatcher interrupts;
  Result<Environment> environment = ReadEnvironment();
  if (!environment) return PrintError(environment.error(), kUsage);
  AppContext context;
  context.environment = std::move(environment).value();
  context.stop = interrupts.token();
  context.interrupts = &interrupts;

  CLI::App app("Lattice: transformer models on the machine you have.", "lattice");
  app.footer(kExamples);
  app.set_version_flag("--version", "lattice " LATTICE_VERSION);
  app.require_subcommand(1);
  DeclareSharedFlags(app, context);
  std::vector<std::pair<CLI::App*, Action>> actions;
  for (const Command& command : Commands()) {
    CLI::App* arguments = app.add_subcommand(command.name, command.summary);
    arguments->fallthrough();  // shared flags may follow the command's name
    actions.emplace_back(arguments, command.declare(*arguments, context));
  }
  UnmarkBracketed(app);
  try {
    app.parse(MarkBracketed(argc, argv));
  } catch (const CLI::ParseError& error) {  // how CLI11 reports --help, --version and complaints
    return PrintParseResult(app, error);
  }
  for (const auto& [arguments, action] : actions) {
    if (!arguments->parsed()) continue;
    if (const Status status = action(); !status) {
      // A reader that has seen enough (`| head`) is no failure.
      if (status.error().code == ErrorCode::kCancelled && StdoutReaderLeft()) return 0;
      return PrintError(status.error(), kFailure);
    }
  }
  return 0;
}

}  // namespace
}  // namespace lattice::apps

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);  // a closed pipe or socket is an error of one write
  try {
    return lattice::apps::Run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lattice: internal error: %s\n", error.what());
    return lattice::apps::kFailure;
  }
}
