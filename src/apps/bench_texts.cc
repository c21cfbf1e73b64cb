#include "apps/bench_texts.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lattice::apps {
namespace {

// Common English words, each one token in the vocabularies of English models.
constexpr std::array<std::string_view, 64> kWords = {
    "time",     "year",    "people",   "way",    "day",        "man",    "thing",   "woman",
    "life",     "child",   "world",    "school", "state",      "family", "student", "group",
    "country",  "problem", "hand",     "part",   "place",      "case",   "week",    "company",
    "system",   "program", "question", "work",   "government", "number", "night",   "point",
    "home",     "water",   "room",     "mother", "area",       "money",  "story",   "fact",
    "month",    "lot",     "right",    "study",  "book",       "eye",    "job",     "word",
    "business", "issue",   "side",     "kind",   "head",       "house",  "service", "friend",
    "father",   "power",   "hour",     "game",   "line",       "end",    "member",  "law"};

std::vector<std::string> MakeTexts(std::size_t n_texts, std::size_t n_words) {
  std::uint32_t state = 12345;
  std::vector<std::string> texts(n_texts);
  for (std::string& text : texts) {
    for (std::size_t i = 0; i < n_words; ++i) {
      state = state * 1664525u + 1013904223u;  // Numerical Recipes' generator: its high bits do.
      if (i != 0) text += ' ';
      text += kWords[state >> 26];
    }
  }
  return texts;
}

}  // namespace

std::vector<BenchTexts> BuiltInBenchTexts() {
  return {{"query", MakeTexts(1, 8)}, {"short", MakeTexts(1000, 8)}, {"long", MakeTexts(200, 250)}};
}

}  // namespace lattice::apps
