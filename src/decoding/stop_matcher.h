#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lattice/result.h"

namespace lattice::decoding {

/// Watches a text that comes in pieces for stop strings. The text ends where the first one to be
/// complete begins; of several that are complete at the same byte, the longest counts. How the
/// text is cut into pieces changes nothing. Shown is everything but the tail that may still become
/// a stop string; the work is linear in the text.
///
/// Source  Aho and Corasick 1975, "Efficient String Matching".
class StopMatcher {
 public:
  static constexpr std::size_t kMaxStops = 256, kMaxStopBytes = 4096;

  /// kInvalidArgument: more than kMaxStops strings, one that is empty, not UTF-8 or longer than
  /// kMaxStopBytes.
  static Result<StopMatcher> Create(const std::vector<std::string>& stops);

  /// Takes the next piece of the text and appends to `shown` what is certain to belong to it. True
  /// once a stop string is complete: the text has ended, and later pieces are ignored.
  ///
  /// piece  whole characters of UTF-8; what is shown is so too.
  bool Push(std::string_view piece, std::string& shown);

  /// The text has ended by itself: appends what was held back. Does nothing after a stop.
  void Finish(std::string& shown);

  /// Which of the strings ended the text, if one did.
  std::optional<std::size_t> matched() const { return matched_; }
  /// Bytes held back now.
  std::size_t n_held() const { return held_.size(); }
  /// Ready for another text.
  void Reset();

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Node {  // what the text ends with: a beginning of some stop string
    std::uint32_t first_child = kNone, sibling = kNone;
    std::uint32_t shorter = 0;   // the longest other node that the text then ends with
    std::uint32_t depth = 0;     // bytes
    std::uint32_t stop = kNone;  // the longest stop string that is complete here
    char byte = 0;
  };

  void Add(std::string_view stop, std::uint32_t index);
  void Link();
  std::uint32_t Child(std::uint32_t node, char byte) const;
  std::uint32_t Next(std::uint32_t node, char byte) const;

  std::vector<Node> nodes_ = std::vector<Node>(1);  // nodes_[0]: nothing of any
  std::vector<std::uint32_t> stop_bytes_;           // lengths of the stop strings
  std::uint32_t node_ = 0;
  std::string held_;
  std::optional<std::size_t> matched_;
};

}  // namespace lattice::decoding
