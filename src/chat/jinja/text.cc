#include "chat/jinja/text.h"

#include <algorithm>

namespace lattice::chat::jinja {
namespace {

std::size_t CountChars(std::string_view bytes) {
  return static_cast<std::size_t>(std::count_if(bytes.begin(), bytes.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

Text::Text() : Text(std::string_view()) {}

Text::Text(std::string_view bytes, Origin origin) {
  auto rep = std::make_shared<Rep>();
  rep->bytes = bytes;
  rep->n_chars = CountChars(bytes);
  if (origin == Origin::kUser && !bytes.empty()) rep->user.push_back({0, bytes.size()});
  rep_ = std::move(rep);
}

bool Text::IsUser(std::size_t byte) const {
  const auto after =
      std::upper_bound(rep_->user.begin(), rep_->user.end(), byte,
                       [](std::size_t at, const ByteRange& range) { return at < range.begin; });
  return after != rep_->user.begin() && byte < std::prev(after)->end;
}

Text Text::AsMarkup(bool markup) const {
  Text text = *this;  // shares the bytes
  text.markup_ = markup;
  return text;
}

std::size_t Text::ByteOfChar(std::size_t index) const {
  if (index >= n_chars()) return size();
  if (is_ascii()) return index;
  std::size_t byte = 0;
  for (; index > 0; --index) {
    do ++byte;
    while (byte < size() && IsContinuation(view()[byte]));
  }
  return byte;
}

std::size_t Text::CharOfByte(std::size_t byte) const {
  return is_ascii() ? byte : CountChars(view().substr(0, byte));
}

Text Text::Sub(std::size_t begin, std::size_t end) const {
  if (begin == 0 && end == size()) return *this;
  TextBuilder builder(size());
  builder.Append(*this, begin, end);
  return std::move(builder).Build().AsMarkup(is_markup());
}

void TextBuilder::Append(std::string_view bytes, Origin origin) {
  if (bytes.empty()) return;
  if (full_ || bytes.size() > max_bytes_ - bytes_.size()) {
    full_ = true;
    return;
  }
  const std::size_t begin = bytes_.size();
  bytes_ += bytes;
  if (origin == Origin::kTemplate) return;
  if (!user_.empty() && user_.back().end == begin) {
    user_.back().end = bytes_.size();
  } else {
    user_.push_back({begin, bytes_.size()});
  }
}

void TextBuilder::Append(const Text& text, std::size_t begin, std::size_t end) {
  const auto ranges = text.user_ranges();
  auto range = std::lower_bound(
      ranges.begin(), ranges.end(), begin,
      [](const ByteRange& candidate, std::size_t at) { return candidate.end <= at; });
  std::size_t at = begin;
  for (; range != ranges.end() && range->begin < end; ++range) {
    const std::size_t from = std::max(begin, range->begin), to = std::min(end, range->end);
    Append(text.view().substr(at, from - at), Origin::kTemplate);
    Append(text.view().substr(from, to - from), Origin::kUser);
    at = to;
  }
  if (at < end) Append(text.view().substr(at, end - at), Origin::kTemplate);
}

void TextBuilder::Repeat(const Text& text, std::size_t count) {
  if (text.empty() || count == 0) return;
  if (full_ || count > (max_bytes_ - bytes_.size()) / text.size()) {
    full_ = true;
    return;
  }
  const auto ranges = text.user_ranges();
  const bool all_user = ranges.size() == 1 && ranges[0] == ByteRange{0, text.size()};
  if (!ranges.empty() && !all_user) {
    for (; count > 0; --count) Append(text);
    return;
  }
  // A long run of one character must not cost a step for each.
  const std::size_t total = text.size() * count;
  std::string block(text.view());
  block.reserve(total);
  while (block.size() < total) block.append(block, 0, std::min(block.size(), total - block.size()));
  Append(block, all_user ? Origin::kUser : Origin::kTemplate);
}

Text TextBuilder::Build() && {
  auto rep = std::make_shared<Text::Rep>();
  rep->bytes = std::move(bytes_);
  rep->user = std::move(user_);
  rep->n_chars = CountChars(rep->bytes);
  return Text(std::move(rep));
}

}  // namespace lattice::chat::jinja
