#pragma once

#include "apps/command.h"

namespace lattice::apps {

/// lattice drift
Action DeclareDrift(CLI::App& arguments, const AppContext& context);

}  // namespace lattice::apps
