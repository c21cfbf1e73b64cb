#pragma once

#include <string>

namespace lattice::chat {

/// Finds where a JSON object or array ends that comes byte by byte. What cannot be JSON is noticed
/// early, but not all of it: the text is still to be parsed. Control characters inside of strings,
/// which models like to write as they are, become escapes.
class JsonEnd {
 public:
  enum class State { kMore, kDone, kBad };

  /// Takes the next byte; the first is '{' or '['. Not after kDone or kBad.
  State Take(char c);

  bool empty() const { return text_.empty(); }
  /// All bytes, with escapes for bare control characters.
  const std::string& text() const { return text_; }

 private:
  static constexpr std::size_t kMaxDepth = 64;

  std::string text_;
  std::string open_;  // the brackets that will close
  bool in_string_ = false, escaped_ = false;
};

}  // namespace lattice::chat
