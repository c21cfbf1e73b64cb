#pragma once

#include "apps/command.h"

namespace lattice::apps {

/// The rows of a file of vectors that are nearest to texts or to other vectors.
Action DeclareSearch(CLI::App& arguments, const AppContext& context);

}  // namespace lattice::apps
