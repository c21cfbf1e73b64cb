#include "apps/token_ids.h"

#include <charconv>
#include <string>

namespace lattice::apps {

CLI::Option* AddIds(CLI::App& arguments, const std::string& name, std::string& out,
                    const std::string& what) {
  const auto check = [](const std::string& text) {
    const auto ids = ParseIds(text);
    return ids ? std::string() : ids.error().message;
  };
  return arguments.add_option(name, out, what)->type_name("\"N N ...\"")->check(check);
}

Result<std::vector<TokenId>> ParseIds(std::string_view text) {
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
    if (code != std::errc() || next == at || id < 0) {
      return Error{ErrorCode::kInvalidArgument,
                   "'" + std::string(at, end) + "' does not start with a token's number"};
    }
    ids.push_back(id);
    at = next;
  }
  return ids;
}

}  // namespace lattice::apps
