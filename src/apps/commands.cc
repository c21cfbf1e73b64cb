#include "apps/command.h"
#include "apps/command_models.h"
#include "apps/command_pull.h"
#include "apps/command_rm.h"
#include "apps/command_show.h"

namespace lattice::apps {
namespace {

constexpr Command kCommands[] = {
    {"pull", "Fetch a model into the cache", DeclarePull},
    {"models", "List the models on this machine, or those with a short name", DeclareModels},
    {"show", "What a model is and where it lies", DeclareShow},
    {"rm", "Remove a model from the cache", DeclareRm},
};

}  // namespace

std::span<const Command> Commands() { return kCommands; }

}  // namespace lattice::apps
