#pragma once

#include "apps/command.h"

namespace lattice::apps {

Action DeclareQuantize(CLI::App& arguments, const AppContext& context);

}  // namespace lattice::apps
