#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <optional>

#include "chat/chat_template.h"
#include "chat/message.h"
#include "server/http/api_error.h"
#include "server/openai/generation_fields.h"

namespace lattice::server {

/// The body of /v1/chat/completions.
struct ChatRequest {
  chat::Conversation conversation;
  chat::RenderOptions render;
  GenerationFields generation;
  std::optional<std::size_t> n_top_log_probabilities;  ///< Absent: none are asked for.
};

/// Checks every field. Texts of several parts are joined without separator; the role "developer"
/// becomes "system" unless the template knows it. 400 names the field.
///
/// vocab  ids in logit_bias are below it.
ApiResult<ChatRequest> ReadChatRequest(const boost::json::object& body, std::size_t vocab,
                                       bool knows_developer);

}  // namespace lattice::server
