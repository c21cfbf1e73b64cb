#pragma once

#include "apps/command.h"

namespace lattice::apps {

/// lattice similarity
Action DeclareSimilarity(CLI::App& arguments, const AppContext& context);

}  // namespace lattice::apps
