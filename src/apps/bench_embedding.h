#pragma once

#include <string>
#include <vector>

#include "apps/command.h"
#include "apps/embedding_flags.h"

namespace lattice::apps {

struct EmbeddingBenchArguments {
  EmbeddingFlags embedding;
  std::vector<std::string> inputs;  ///< Files of texts, one test each; none: the built-in ones.
  std::size_t rounds = 5;
  bool json = false;
};

/// Texts and tokens a second of an embedding model, as a table or as JSON, on stdout.
Status BenchEmbedding(const EmbeddingBenchArguments& arguments, const AppContext& context);

}  // namespace lattice::apps
