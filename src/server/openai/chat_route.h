#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "chat/chat_prompt.h"
#include "server/openai/answer_shape.h"
#include "server/openai/chat_request.h"
#include "server/openai/chat_writer.h"
#include "server/openai/served_model.h"

namespace lattice::server {

/// A request for a chat answer that was read, with its prompt.
struct PreparedChat {
  TextModelPtr model;  ///< Can chat.
  ChatRequest request;
  chat::ChatPrompt prompt;
};

/// What a dialect's writer is made of. Borrowed for the call.
struct ChatStart {
  AnswerHead head;
  const ChatRequest& request;
  std::size_t n_prompt = 0;
};

/// How a route's answers look. Requests of all dialects are turned into the body of
/// chat/completions, so that there is one way of reading messages, tools and sampling.
struct ChatRoute {
  const char* id_prefix;    ///< Of answers.
  const char* call_prefix;  ///< Of calls of tools.
  std::function<std::unique_ptr<ChatWriter>(const ChatStart&)> make_writer;
};

}  // namespace lattice::server
