#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <optional>

#include "chat/chat_template.h"
#include "chat/message.h"
#include "server/http/api_error.h"
#include "server/openai/chat_messages.h"
#include "server/openai/generation_fields.h"

namespace lattice::server {

/// The body of /v1/chat/completions.
struct ChatRequest {
  chat::Conversation conversation;
  chat::RenderOptions render;
  GenerationFields generation;
  std::optional<std::size_t> n_top_log_probabilities;  ///< Absent: none are asked for.
  bool parallel_calls = true;                          ///< Else an answer ends with its first call.
  bool must_call = false;                              ///< The answer is held to one call in JSON.
  bool holds_calls = false;                            ///< The answer's calls are held to tools.
  std::optional<std::size_t> thinking_budget;          ///< Tokens.
};

/// Checks every field; 400 names it. See ReadMessages and ReadToolFields.
///
/// vocab  ids in logit_bias are below it.
ApiResult<ChatRequest> ReadChatRequest(const boost::json::object& body, std::size_t vocab,
                                       const ChatAbilities& abilities);

}  // namespace lattice::server
