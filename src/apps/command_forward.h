#pragma once

#include "apps/command.h"

namespace lattice::apps {

/// lattice forward
Action DeclareForward(CLI::App& arguments, const AppContext& context);

}  // namespace lattice::apps
