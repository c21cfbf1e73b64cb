#pragma once

#include "apps/command.h"

namespace lattice::apps {

/// lattice bench
Action DeclareBench(CLI::App& arguments, const AppContext& context);

}  // namespace lattice::apps
