#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "lattice/result.h"

namespace lattice::hub {

struct ProcessResult {
  int exit_status = 0;  ///< As a shell gives it: 128 + signal when one ended it.
  std::string output;   ///< The end of what it printed on stdout and stderr, at most 8 KiB.
};

/// Runs a program, found on PATH, without a shell and without input, and waits for it. A stop
/// request ends it and everything it started. kNotFound when there is no such program; kCancelled.
Result<ProcessResult> RunProcess(const std::vector<std::string>& arguments,
                                 const std::stop_token& stop);

}  // namespace lattice::hub
