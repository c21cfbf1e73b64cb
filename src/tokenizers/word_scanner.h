#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tokenizers/model.h"

namespace lattice::tokenizers {

/// The word-splitting expressions of well-known byte-level tokenizers as hand-written scanners.
/// Each cuts a text into words without gaps, in one pass, in time linear in the text.
class WordScanner {
 public:
  /// The scanner that does what `expression` does, if it is one of those known.
  static std::optional<WordScanner> For(std::string_view expression);

  /// GPT-2's: contractions, letters, numbers and other characters, each with at most one space
  /// before; then spaces.
  static WordScanner Gpt2();

  /// Appends the words of text[whole].
  void Split(std::string_view text, Span whole, std::vector<Span>& out) const;

 private:
  enum class Family : std::uint8_t { kGpt2, kCl100k };
  WordScanner(Family family, std::uint8_t letter, std::uint32_t max_digits)
      : family_(family), letter_(letter), max_digits_(max_digits) {}

  Family family_;
  std::uint8_t letter_;       // Character classes that make up a word: letters, perhaps marks.
  std::uint32_t max_digits_;  // Longest number.
};

}  // namespace lattice::tokenizers
