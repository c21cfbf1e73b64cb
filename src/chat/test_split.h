#pragma once

// For the tests of what splits thinking from an answer.

#include <string_view>

#include "chat/reasoning.h"

namespace lattice::chat {

/// Both parts of a text that reaches the splitter in pieces of piece_bytes.
template <typename Splitter>
SplitText SplitInPieces(Splitter splitter, std::string_view text, std::size_t piece_bytes) {
  SplitText whole;
  const auto add = [&](const SplitText& part) {
    whole.reasoning += part.reasoning;
    whole.answer += part.answer;
  };
  for (std::size_t i = 0; i < text.size(); i += piece_bytes) {
    add(splitter.Push(text.substr(i, piece_bytes)));
  }
  add(splitter.Finish());
  return whole;
}

}  // namespace lattice::chat
