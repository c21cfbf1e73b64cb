#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/message.h"
#include "chat/tools/call_form.h"
#include "server/http/api_error.h"

namespace lattice::server {

/// What of a model and its template decides how requests are read.
struct ChatAbilities {
  bool knows_developer = false;                 ///< Else that role is "system".
  std::optional<chat::CallForm> calls = {};     ///< How tools are called; absent: they cannot be.
  std::vector<std::string> control_marks = {};  ///< Of calls: those that are control tokens.
  bool short_call_ids = false;  ///< Ids of calls that are not 9 letters or digits are replaced.
};

/// The body's "messages", checked and in the shape that templates read: texts of several parts are
/// joined without separator; null members of answers are left out; `reasoning` is
/// `reasoning_content`. Each call has an id, and each result the id of a call before it. The error
/// names the place.
ApiResult<std::vector<chat::Message>> ReadMessages(const boost::json::object& body,
                                                   const ChatAbilities& abilities);

/// 9 letters and digits that stand for an id.
std::string ShortCallId(std::string_view id);

}  // namespace lattice::server
