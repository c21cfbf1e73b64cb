#pragma once

#include <vector>

#include "apps/command.h"
#include "apps/generation_flags.h"

namespace lattice::apps {

struct GenerationBenchArguments {
  TextModelFlags model;
  std::vector<std::size_t> prompts = {512};    ///< Tokens read at once; 0: no such test.
  std::vector<std::size_t> generated = {128};  ///< Tokens made one by one; 0: no such test.
  std::vector<std::size_t> depths = {0};       ///< Tokens read before, untimed.
  std::size_t rounds = 5;
  bool json = false;
};

/// Tokens a second of a generator for prompts ("pp512") and one by one ("tg128", "tg128@d8192"),
/// beside the machine's read bandwidth, as a table or as JSON, on stdout.
Status BenchGeneration(const GenerationBenchArguments& arguments, const AppContext& context);

}  // namespace lattice::apps
