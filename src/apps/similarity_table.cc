#include "apps/similarity_table.h"

#include <algorithm>
#include <cstdio>

#include "base/utf8.h"
#include "lattice/vectors.h"

namespace lattice::apps {
namespace {

constexpr std::size_t kLabelWidth = 44;

// The text on one line, cut to the width of the label column; width counts code points.
std::string Label(const std::string& text) {
  std::string label;
  std::size_t n = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const Utf8Step step = DecodeUtf8(rest);
    if (n + 1 == kLabelWidth && rest.size() > step.n_bytes) {
      label += "\u2026";
      ++n;
      break;
    }
    AppendUtf8(step.scalar < 0x20 || step.scalar == 0x7F ? U' ' : step.scalar, label);
    ++n;
    rest.remove_prefix(step.n_bytes);
  }
  return label.append(kLabelWidth - n, ' ');
}

std::string Cell(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

}  // namespace

std::string SimilarityTable(const std::vector<std::string>& texts, const Embeddings& embeddings) {
  std::string table(kLabelWidth + 4, ' ');
  for (std::size_t i = 0; i < texts.size(); ++i) {
    table += Cell("%7.0f", static_cast<double>(i + 1));
  }
  table += '\n';
  for (std::size_t i = 0; i < texts.size(); ++i) {
    table += Cell("%2.0f  ", static_cast<double>(i + 1)) + Label(texts[i]);
    for (std::size_t j = 0; j < texts.size(); ++j) {
      const Result<float> cosine = VectorOps().Cosine(embeddings[i], embeddings[j]);
      table += cosine ? Cell("%7.3f", static_cast<double>(*cosine)) : std::string("      -");
    }
    table += '\n';
  }
  return table;
}

}  // namespace lattice::apps
