#include "chat/jinja/search.h"

#include <string.h>

#include <algorithm>
#include <string>

namespace lattice::chat::jinja {

std::size_t FindBytes(std::string_view text, std::string_view needle, std::size_t from) {
  if (from > text.size()) return kNotFound;
  if (needle.empty()) return from;
  if (text.size() - from < needle.size()) return kNotFound;
  // memmem is a two-way search; std::string_view::find is quadratic on "aaaa...".
  const void* found = memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
  if (found == nullptr) return kNotFound;
  return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

std::size_t FindLastBytes(std::string_view text, std::string_view needle, std::size_t to) {
  text = text.substr(0, to);
  if (needle.size() > text.size()) return kNotFound;
  const std::string reversed_text(text.rbegin(), text.rend());
  const std::string reversed_needle(needle.rbegin(), needle.rend());
  const std::size_t found = FindBytes(reversed_text, reversed_needle, 0);
  return found == kNotFound ? kNotFound : text.size() - found - needle.size();
}

}  // namespace lattice::chat::jinja
