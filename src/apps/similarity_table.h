#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lattice/embedding.h"

namespace lattice::apps {

/// More columns than this fit no screen.
inline constexpr std::size_t kMaxTableTexts = 20;

/// Cosines of all pairs of at most kMaxTableTexts texts, one row a text, for people.
std::string SimilarityTable(const std::vector<std::string>& texts, const Embeddings& embeddings);

}  // namespace lattice::apps
