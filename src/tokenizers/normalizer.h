#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "lattice/result.h"
#include "tokenizers/aligned_text.h"

namespace lattice::tokenizers {

/// One step that rewrites a text before it is cut into words. Immutable.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// Errors  kInvalidArgument when a regular expression gives up on the text.
  virtual Status Apply(AlignedText& text) const = 0;
};

/// The "normalizer" object of a tokenizer.json.
/// Errors  kUnsupported names an unknown type and the known ones; kCorruptData names the key.
Result<std::unique_ptr<Normalizer>> MakeNormalizer(const JsonView& spec);

enum class NormalForm { kC, kD, kKC, kKD };

/// A Unicode normal form, with the reference's origins.
std::unique_ptr<Normalizer> MakeNormalForm(NormalForm form);

struct BertNormalizerOptions {
  bool clean_text = true;
  bool handle_cjk = true;
  bool strip_accents = true;
  bool lowercase = true;
};
std::unique_ptr<Normalizer> MakeBertNormalizer(const BertNormalizerOptions& options);

/// A SentencePiece character map ("precompiled_charsmap", decoded from base64).
///
/// As the reference reads it: the shortest entry that starts a grapheme cluster shorter than 6
/// bytes replaces the whole cluster, or else the same for each code point. Errors  kCorruptData
/// when the map's sizes do not fit.
Result<std::unique_ptr<Normalizer>> MakeCharMap(std::string_view blob);

/// One after the other.
std::unique_ptr<Normalizer> MakeNormalizerSequence(std::vector<std::unique_ptr<Normalizer>> steps);

}  // namespace lattice::tokenizers
