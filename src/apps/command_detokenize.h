#pragma once

#include "apps/command.h"

namespace lattice::apps {

/// lattice detokenize
Action DeclareDetokenize(CLI::App& arguments, const AppContext& context);

}  // namespace lattice::apps
