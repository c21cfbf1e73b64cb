#include "tokenizers/aligned_text.h"

#include <algorithm>
#include <string>

#include "base/utf8.h"

namespace lattice::tokenizers {
namespace {

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

Status CheckTextSize(std::size_t n_bytes) {
  if (n_bytes <= kMaxTextBytes) return Ok();
  return Error{ErrorCode::kResourceExhausted, "a text of " + std::to_string(n_bytes) +
                                                  " bytes, normalised; the most is " +
                                                  std::to_string(kMaxTextBytes)};
}

void AlignedText::Assign(std::string_view text, std::uint32_t base, bool track) {
  text_.assign(text);
  origins_.clear();
  base_ = base;
  track_ = track;
  has_origins_ = false;
}

void AlignedText::AssignPart(const AlignedText& whole, Span part) {
  Assign(whole.view().substr(part.begin, part.end - part.begin), whole.base_ + part.begin,
         whole.track_);
  if (!whole.has_origins_) return;
  origins_.assign(whole.origins_.begin() + part.begin, whole.origins_.begin() + part.end);
  has_origins_ = true;
}

Span AlignedText::OriginOf(Span part) const {
  if (has_origins_) return {origins_[part.begin].begin, origins_[part.end - 1].end};
  Span origin = part;
  while (origin.begin > 0 && IsContinuation(text_[origin.begin])) --origin.begin;
  while (origin.end < text_.size() && IsContinuation(text_[origin.end])) ++origin.end;
  return {origin.begin + base_, origin.end + base_};
}

void AlignedText::Materialise() {
  origins_.resize(text_.size());
  std::uint32_t begin = 0;
  const auto size = static_cast<std::uint32_t>(text_.size());
  while (begin < size) {
    std::uint32_t end = begin + 1;
    while (end < size && IsContinuation(text_[end])) ++end;
    const Span origin{base_ + begin, base_ + end};
    for (; begin < end; ++begin) origins_[begin] = origin;
  }
  has_origins_ = true;
}

TextEdit::TextEdit(AlignedText& text) : text_(text) {
  if (text.track_ && !text.has_origins_) text.Materialise();
  text.spare_text_.clear();
  text.spare_origins_.clear();
}

TextEdit::~TextEdit() {
  text_.text_.swap(text_.spare_text_);
  text_.origins_.swap(text_.spare_origins_);
}

std::size_t TextEdit::NextLength() const {
  if (cursor_ >= text_.text_.size()) return 0;
  return DecodeUtf8(std::string_view(text_.text_).substr(cursor_)).n_bytes;
}

void TextEdit::Keep(std::size_t n_bytes) {
  const std::size_t end = std::min(cursor_ + n_bytes, text_.text_.size());
  if (cursor_ >= end) return;
  text_.spare_text_.append(text_.text_, cursor_, end - cursor_);
  if (text_.track_) {
    text_.spare_origins_.insert(text_.spare_origins_.end(),
                                text_.origins_.begin() + static_cast<std::ptrdiff_t>(cursor_),
                                text_.origins_.begin() + static_cast<std::ptrdiff_t>(end));
  }
  cursor_ = end;
}

void TextEdit::Replace(char32_t c) {
  AppendUtf8(c, text_.spare_text_);
  if (text_.track_) {
    const Span origin = cursor_ < text_.origins_.size() ? text_.origins_[cursor_]
                        : text_.origins_.empty()        ? Span{text_.base_, text_.base_}
                                                        : text_.origins_.back();
    text_.spare_origins_.resize(text_.spare_text_.size(), origin);
  }
  cursor_ += NextLength();
}

void TextEdit::Insert(std::string_view text) {
  text_.spare_text_.append(text);
  if (!text_.track_) return;
  const std::size_t before = std::min(cursor_, text_.origins_.size());
  const Span origin = before == 0 ? Span{text_.base_, text_.base_} : text_.origins_[before - 1];
  text_.spare_origins_.resize(text_.spare_text_.size(), origin);
}

void TextEdit::Insert(char32_t c) {
  std::string encoded;
  AppendUtf8(c, encoded);
  Insert(encoded);
}

void TextEdit::Put(char32_t c, int change) {
  if (change > 0) {
    Insert(c);
    return;
  }
  Replace(c);
  Skip(-change);
}

void TextEdit::Skip(int n_chars) {
  for (; n_chars > 0; --n_chars) cursor_ += NextLength();
}

void PrependTo(AlignedText& text, std::string_view prefix) {
  const std::string_view all = text.view();
  if (all.empty() || prefix.empty()) return;
  const Utf8Step first = DecodeUtf8(all);
  const Utf8Step step = DecodeUtf8(prefix);
  TextEdit edit(text);
  edit.Replace(step.scalar);
  edit.Insert(prefix.substr(step.n_bytes));
  edit.Insert(first.scalar);
  edit.Keep(all.size() - first.n_bytes);
}

}  // namespace lattice::tokenizers
