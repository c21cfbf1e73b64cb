#pragma once

#include <string>
#include <string_view>

#include "apps/chat_session.h"
#include "lattice/result.h"

namespace lattice::apps {

/// Changes what /set can change: "temperature 0.7", "thinking off", ... kInvalidArgument names what
/// there is.
Status ChangeSetting(std::string_view name, std::string_view value, ChatSession& session);

/// All of them with their values, a line each.
std::string SettingLines(ChatSession& session);

}  // namespace lattice::apps
