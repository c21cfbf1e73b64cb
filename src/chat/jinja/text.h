#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lattice::chat {

/// Half-open range of bytes.
struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  friend bool operator==(ByteRange, ByteRange) = default;
};

}  // namespace lattice::chat

namespace lattice::chat::jinja {

/// Where the bytes of a string come from: the template's author, or the data that it is fed.
enum class Origin : bool { kTemplate, kUser };

/// An immutable string of valid UTF-8 that knows which of its bytes are user data. Indices that
/// templates see count code points, as in Python; this class works in bytes and converts.
class Text {
 public:
  Text();  ///< Empty.
  explicit Text(std::string_view bytes, Origin origin = Origin::kTemplate);

  std::string_view view() const { return rep_->bytes; }
  std::size_t size() const { return rep_->bytes.size(); }  ///< In bytes.
  bool empty() const { return size() == 0; }
  std::size_t n_chars() const { return rep_->n_chars; }  ///< In code points.
  bool is_ascii() const { return n_chars() == size(); }

  /// Ascending, neither empty nor touching.
  std::span<const ByteRange> user_ranges() const { return rep_->user; }
  bool IsUser(std::size_t byte) const;

  /// Marked by `safe` or `escape`: what is added to it by + is HTML-escaped first, as the reference
  /// does.
  bool is_markup() const { return markup_; }
  Text AsMarkup(bool markup) const;

  /// The byte at which a code point starts; size() for n_chars() or more.
  std::size_t ByteOfChar(std::size_t index) const;
  std::size_t CharOfByte(std::size_t byte) const;
  Text Sub(std::size_t begin, std::size_t end) const;  ///< Bytes [begin, end).

 private:
  friend class TextBuilder;
  struct Rep {
    std::string bytes;
    std::vector<ByteRange> user;
    std::size_t n_chars = 0;
  };
  explicit Text(std::shared_ptr<const Rep> rep) : rep_(std::move(rep)) {}

  std::shared_ptr<const Rep> rep_;
  bool markup_ = false;
};

/// Joins pieces and their origins. Past `max_bytes` it drops what comes and says so by full(), so
/// that loops need no check of their own and memory stays bounded.
class TextBuilder {
 public:
  explicit TextBuilder(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  void Append(std::string_view bytes, Origin origin);
  void Append(const Text& text) { Append(text, 0, text.size()); }
  void Append(const Text& text, std::size_t begin, std::size_t end);
  void Append(std::string_view literal) { Append(literal, Origin::kTemplate); }
  /// `count` times the same.
  void Repeat(const Text& text, std::size_t count);

  std::size_t size() const { return bytes_.size(); }
  /// What the string and its origins take.
  std::size_t memory_bytes() const { return bytes_.size() + user_.size() * sizeof(ByteRange); }
  bool full() const { return full_; }
  Text Build() &&;

 private:
  std::size_t max_bytes_;
  std::string bytes_;
  std::vector<ByteRange> user_;
  bool full_ = false;
};

}  // namespace lattice::chat::jinja
