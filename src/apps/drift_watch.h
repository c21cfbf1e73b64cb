#pragma once

#include <string>

#include "apps/command.h"
#include "lattice/drift.h"

namespace lattice::apps {

/// Reads vectors, a line of JSON each, from standard input until its end and prints a line for each
/// window that the detector has read. `state_file`, unless empty, is written after each window and
/// at the end.
Status WatchStream(transport::DriftDetector& detector, const std::string& state_file, bool json,
                   const AppContext& context);

}  // namespace lattice::apps
