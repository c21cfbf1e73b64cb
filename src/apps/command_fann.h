#pragma once

#include "apps/command.h"

namespace lattice::apps {

/// Small networks: trained on, judged by and run over the rows of a table.
Action DeclareFann(CLI::App& arguments, const AppContext& context);

}  // namespace lattice::apps
