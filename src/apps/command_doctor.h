#pragma once

#include "apps/command.h"

namespace lattice::apps {

/// lattice doctor
Action DeclareDoctor(CLI::App& arguments, const AppContext& context);

}  // namespace lattice::apps
