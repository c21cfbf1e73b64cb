#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "lattice/result.h"
#include "tokenizers/aligned_text.h"
#include "tokenizers/tokenizer.h"

namespace lattice::tokenizers {

/// EncodeOptions::plain_ranges of a text, grown to whole characters, in the bytes of
/// ToValidUtf8(text). kInvalidArgument when they do not rise or leave the text.
Result<std::vector<Span>> PlainSpans(std::string_view text, std::span<const ByteRange> ranges);

/// The stretches of `text`, which keeps origins, that came from `plain`, ranges of the caller's
/// text.
std::vector<Span> PlainSpans(const AlignedText& text, std::span<const Span> plain);

inline Error NoRangesInPairs() {
  return {ErrorCode::kInvalidArgument, "plain_ranges are for one text, not for a pair"};
}

}  // namespace lattice::tokenizers
