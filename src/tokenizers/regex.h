#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lattice/result.h"
#include "tokenizers/model.h"

namespace lattice::tokenizers {

/// A regular expression of a tokenizer file, in the dialect the reference uses (Oniguruma's Ruby
/// syntax over Unicode), compiled for PCRE2. Immutable.
///
/// Matching takes time linear in the text: an expression that backtracks more than that is an error
/// of that call, never a hang or a stack overflow.
class Regex {
 public:
  /// kUnsupported for constructs whose meaning differs between the two dialects (set operations
  /// inside a class); kCorruptData when it does not compile.
  static Result<Regex> Compile(std::string_view expression);

  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  /// Appends all matches in `text` (valid UTF-8), leftmost first, not overlapping; an empty match
  /// does not follow directly after another match.
  Status FindAll(std::string_view text, std::vector<Span>& out) const;

 private:
  struct Code;
  explicit Regex(std::unique_ptr<Code> code);
  std::unique_ptr<Code> code_;
};

}  // namespace lattice::tokenizers
