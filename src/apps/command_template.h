#pragma once

#include "apps/command.h"

namespace lattice::apps {

/// lattice template
Action DeclareTemplate(CLI::App& arguments, const AppContext& context);

}  // namespace lattice::apps
