#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "lattice/result.h"

namespace lattice::apps {

/// Adds a flag of token ids, such as "1 2,3"; another text is wrong usage.
CLI::Option* AddIds(CLI::App& arguments, const std::string& name, std::string& out,
                    const std::string& what);
/// "1 2,3" -> {1, 2, 3}. kInvalidArgument says where it goes wrong.
Result<std::vector<TokenId>> ParseIds(std::string_view text);

}  // namespace lattice::apps
