#pragma once

#include <memory>
#include <vector>

#include "base/json.h"
#include "lattice/result.h"
#include "tokenizers/aligned_text.h"
#include "tokenizers/model.h"

namespace lattice::tokenizers {

/// One step that cuts a normalised text into words. Immutable.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;

  /// Cuts each of `words` further; may edit the text too (a space that becomes '▁').
  ///
  /// words   ranges of `text` in rising order, none empty; on return they still are.
  /// Errors  kInvalidArgument when a regular expression gives up on the text.
  virtual Status Apply(AlignedText& text, std::vector<Span>& words) const = 0;

  /// Whether the outcome depends on where in the caller's text a word stands, so that the text must
  /// keep its origins even if nobody asks for offsets.
  virtual bool needs_origins() const { return false; }
};

/// A pre-tokeniser with what it implies for the model.
struct PreTokenizerParts {
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  /// The words stay plain text although the file spells them in the byte alphabet: see BpeInput.
  BpeInput input = BpeInput::kAsSpelled;
};

/// The "pre_tokenizer" object of a tokenizer.json.
///
/// raw_bytes  leave out a final step that spells the words in the byte alphabet, and say so. For a
///            model that can take them so.
/// Errors     kUnsupported names an unknown type and the known ones; kCorruptData names the key.
Result<PreTokenizerParts> MakePreTokenizer(const JsonView& spec, bool raw_bytes);

enum class PrependScheme { kAlways, kFirst, kNever };

/// "prepend_scheme" of a Metaspace component, with the older "add_prefix_space".
Result<PrependScheme> ParsePrependScheme(const JsonView& spec);

/// Spaces become `replacement`, one is put before the text, words start at each.
///
/// replacement  one code point, as UTF-8.
std::unique_ptr<PreTokenizer> MakeMetaspace(std::string_view replacement, PrependScheme scheme,
                                            bool split);

}  // namespace lattice::tokenizers
