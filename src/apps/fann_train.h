#pragma once

#include <CLI/CLI.hpp>

#include "apps/command.h"

namespace lattice::apps {

/// Declares the arguments of `lattice fann train`.
Action DeclareFannTrain(CLI::App& arguments, const AppContext& context);

}  // namespace lattice::apps
