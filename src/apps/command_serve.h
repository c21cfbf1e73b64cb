#pragma once

#include "apps/command.h"

namespace lattice::apps {

Action DeclareServe(CLI::App& arguments, const AppContext& context);

}  // namespace lattice::apps
