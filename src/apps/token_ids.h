#pragma once

#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "lattice/result.h"

namespace lattice::apps {

/// "1 2,3" -> {1, 2, 3}; kInvalidArgument names `flag`.
Result<std::vector<TokenId>> ParseIds(std::string_view text, std::string_view flag);

}  // namespace lattice::apps
