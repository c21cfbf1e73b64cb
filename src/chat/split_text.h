#pragma once

#include <string>

namespace lattice::chat {

/// Generated text by its parts.
struct SplitText {
  std::string reasoning;
  std::string answer;
};

}  // namespace lattice::chat
