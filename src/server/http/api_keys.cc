#include "server/http/api_keys.h"

#include <algorithm>
#include <string>

namespace lattice::server {
namespace {

Sha256Digest DigestOf(std::string_view text) {
  Sha256 hash;
  hash.Update(text);
  return hash.Finish();
}

std::string_view Trimmed(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t begin = line.find_first_not_of(kSpace);
  if (begin == line.npos) return {};
  return line.substr(begin, line.find_last_not_of(kSpace) - begin + 1);
}

/// Looks at every byte whatever it finds.
unsigned Difference(const Sha256Digest& a, const Sha256Digest& b) {
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference;
}

}  // namespace

Status ApiKeys::Add(std::string_view text, std::string_view where) {
  const std::size_t n_before = digests_.size();
  for (std::size_t n_line = 1; !text.empty(); ++n_line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view key = Trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (key.empty() || key.front() == '#') continue;
    if (!std::ranges::all_of(key, [](char c) { return c > ' ' && c < 0x7f; })) {
      return Error{ErrorCode::kInvalidArgument,
                   std::string(where) + ": line " + std::to_string(n_line) +
                       ": a key is made of visible ASCII characters without spaces"};
    }
    digests_.push_back(DigestOf(key));
  }
  if (digests_.size() > n_before) return Ok();
  return Error{ErrorCode::kInvalidArgument, std::string(where) + ": holds no key"};
}

bool ApiKeys::Accepts(std::string_view key) const {
  const Sha256Digest asked = DigestOf(key);
  bool found = false;
  for (const Sha256Digest& digest : digests_) found |= Difference(digest, asked) == 0;
  return found;
}

}  // namespace lattice::server
