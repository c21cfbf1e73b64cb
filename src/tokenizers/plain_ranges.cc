#include "tokenizers/plain_ranges.h"

#include <algorithm>
#include <string>

#include "base/utf8.h"
#include "tokenizers/added_tokens.h"

namespace lattice::tokenizers {
namespace {

Status CheckOrder(std::string_view text, std::span<const ByteRange> ranges) {
  std::size_t end = 0;
  for (const ByteRange& range : ranges) {
    if (range.begin < end || range.end < range.begin || range.end > text.size()) {
      return Error{ErrorCode::kInvalidArgument,
                   "plain_ranges: [" + std::to_string(range.begin) + ", " +
                       std::to_string(range.end) + ") does not follow " + std::to_string(end) +
                       " inside a text of " + std::to_string(text.size()) + " bytes"};
    }
    end = range.end;
  }
  return Ok();
}

// Adds to ranges that rise; joins what touches.
void Append(Span span, std::vector<Span>& spans) {
  if (!spans.empty() && span.begin <= spans.back().end) {
    spans.back().end = std::max(spans.back().end, span.end);
  } else {
    spans.push_back(span);
  }
}

}  // namespace

Result<std::vector<Span>> PlainSpans(std::string_view text, std::span<const ByteRange> ranges) {
  LATTICE_TRY_VOID(CheckOrder(text, ranges));
  std::vector<Span> spans;
  std::size_t at = 0, n_written = 0;
  for (const ByteRange& range : ranges) {
    if (range.begin == range.end) continue;  // also inside a character: it marks nothing
    while (at < range.end) {
      const Utf8Step step = DecodeUtf8(text.substr(at));
      const std::size_t n_out = step.valid ? step.n_bytes : std::string_view("\uFFFD").size();
      if (at + step.n_bytes > range.begin) {
        Append(
            {static_cast<std::uint32_t>(n_written), static_cast<std::uint32_t>(n_written + n_out)},
            spans);
      }
      at += step.n_bytes;
      n_written += n_out;
    }
  }
  return spans;
}

std::vector<Span> PlainSpans(const AlignedText& text, std::span<const Span> plain) {
  std::vector<Span> spans;
  if (plain.empty()) return spans;
  for (std::uint32_t at = 0; at < text.view().size(); ++at) {
    if (Touches(plain, text.OriginOf({at, at + 1}))) Append({at, at + 1}, spans);
  }
  return spans;
}

}  // namespace lattice::tokenizers
