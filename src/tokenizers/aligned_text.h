#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lattice/result.h"
#include "tokenizers/model.h"

namespace lattice::tokenizers {

/// No step makes a text longer than this, which keeps byte positions in 32 bits and hostile
/// replacement rules from filling the memory.
inline constexpr std::size_t kMaxTextBytes = std::size_t{1} << 26;

/// kResourceExhausted when a text has grown, or would grow, beyond kMaxTextBytes.
Status CheckTextSize(std::size_t n_bytes);

/// A stretch of the caller's text on its way through the normalisers and pre-tokenisers, with the
/// bytes of the caller's text that each of its bytes came from. Keeping those is optional and costs
/// nothing until the text is edited.
class AlignedText {
 public:
  /// Starts over.
  ///
  /// text   valid UTF-8, bytes [base, base + text.size()) of the caller's text.
  /// track  keep origins; without it OriginOf may not be called.
  void Assign(std::string_view text, std::uint32_t base, bool track);
  /// Starts over with bytes `part` of another, on code point borders, and their origins.
  void AssignPart(const AlignedText& whole, Span part);

  std::string_view view() const { return text_; }
  bool tracked() const { return track_; }

  /// The caller's bytes behind bytes [part.begin, part.end) of this text: from the origin of the
  /// first to the origin of the last. Whole code points, even where `part` cuts one. `part` is not
  /// empty.
  Span OriginOf(Span part) const;

  /// For edits that leave every code point its length: the bytes, to be changed in place.
  char* MutableBytes() { return text_.data(); }

 private:
  friend class TextEdit;
  void Materialise();

  std::string text_, spare_text_;
  std::vector<Span> origins_, spare_origins_;  // One for each byte, once an edit has needed them.
  std::uint32_t base_ = 0;
  bool track_ = false;
  bool has_origins_ = false;
};

/// One pass over an AlignedText that writes its successor. A new code point takes the origin of the
/// code point it replaces, or of the one before it where it is an addition: the reference's rules,
/// on which its offsets depend.
class TextEdit {
 public:
  explicit TextEdit(AlignedText& text);
  ~TextEdit();
  TextEdit(const TextEdit&) = delete;
  TextEdit& operator=(const TextEdit&) = delete;

  std::size_t position() const { return cursor_; }  ///< In the old text, in bytes.
  std::size_t n_written() const { return text_.spare_text_.size(); }  ///< In the new one.

  /// Copies the next n bytes.
  void Keep(std::size_t n_bytes);
  /// Leaves out the next n bytes.
  void Drop(std::size_t n_bytes) { cursor_ += n_bytes; }
  /// Leaves out the next n code points.
  void Skip(int n_chars);
  /// Puts `c` in place of the next code point.
  void Replace(char32_t c);
  /// Adds to what came before.
  void Insert(char32_t c);
  void Insert(std::string_view text);
  /// The reference's notation. change > 0: Insert; 0: Replace; < 0: Replace, and leave out the
  /// -change code points after it.
  void Put(char32_t c, int change);

 private:
  std::size_t NextLength() const;

  AlignedText& text_;
  std::size_t cursor_ = 0;
};

/// Puts `prefix` before a text that is not empty. The prefix has the first code point's origin.
void PrependTo(AlignedText& text, std::string_view prefix);

}  // namespace lattice::tokenizers
