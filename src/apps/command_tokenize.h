#pragma once

#include "apps/command.h"

namespace lattice::apps {

/// lattice tokenize
Action DeclareTokenize(CLI::App& arguments, const AppContext& context);

}  // namespace lattice::apps
