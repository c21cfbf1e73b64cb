#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace lattice::apps {

/// CLI11 reads "[a, b]", where several values may stand, as a list without its brackets; "[SEP]" is
/// a text like any other here. Bracketed arguments are given a mark behind them before they are
/// parsed, and every option of `app` and its sub-commands takes the mark off again.
std::vector<std::string> MarkBracketed(int argc, char** argv);
void UnmarkBracketed(CLI::App& app);

}  // namespace lattice::apps
