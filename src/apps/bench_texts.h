#pragma once

#include <string>
#include <vector>

namespace lattice::apps {

struct BenchTexts {
  std::string name;
  std::vector<std::string> texts;
};

/// What people embed: "query" (one short text), "short" (1,000 texts of 8 common words), "long"
/// (200 texts of 250). The same words on every machine.
std::vector<BenchTexts> BuiltInBenchTexts();

}  // namespace lattice::apps
