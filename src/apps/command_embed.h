#pragma once

#include "apps/command.h"

namespace lattice::apps {

/// lattice embed
Action DeclareEmbed(CLI::App& arguments, const AppContext& context);

}  // namespace lattice::apps
