#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "lattice/result.h"
#include "tokenizers/model.h"

namespace lattice::tokenizers {

/// What to look for in a text: a literal or a regular expression.
class Pattern {
 public:
  virtual ~Pattern() = default;
  /// Appends all matches in `text`, in order, not overlapping.
  virtual Status FindAll(std::string_view text, std::vector<Span>& out) const = 0;
};

/// {"String": literal} or {"Regex": expression}.
Result<std::unique_ptr<Pattern>> MakePattern(const JsonView& spec);

/// What a splitter does with the matches.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// The behaviour's name in a file ("MergedWithNext"; "merged_with_next" too).
Result<SplitBehavior> ParseSplitBehavior(const JsonView& spec);

/// Cuts text[whole] at `matches` (in order, inside it) and appends the pieces that are not empty.
///
/// invert  what lies between the matches counts as the matches.
void CutAtMatches(Span whole, const std::vector<Span>& matches, SplitBehavior behavior, bool invert,
                  std::vector<Span>& out);

}  // namespace lattice::tokenizers
