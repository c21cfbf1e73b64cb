#include "apps/token_ids.h"

#include <charconv>
#include <string>

namespace lattice::apps {

Result<std::vector<TokenId>> ParseIds(std::string_view text, std::string_view flag) {
  std::vector<TokenId> ids;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    if (*at == ' ' || *at == ',' || *at == '\n' || *at == '\t') {
      ++at;
      continue;
    }
    TokenId id = 0;
    const auto [next, code] = std::from_chars(at, end, id);
    if (code != std::errc() || next == at) {
      return Error{ErrorCode::kInvalidArgument, std::string(flag) + ": '" + std::string(at, end) +
                                                    "' does not start with a number"};
    }
    ids.push_back(id);
    at = next;
  }
  return ids;
}

}  // namespace lattice::apps
