#pragma once

#include "apps/command.h"

namespace lattice::apps {

/// lattice rerank
Action DeclareRerank(CLI::App& arguments, const AppContext& context);

}  // namespace lattice::apps
