#pragma once

#include <memory>
#include <optional>
#include <string>

#include "apps/chat_session.h"
#include "apps/command.h"
#include "apps/generation_flags.h"
#include "apps/sampling_flags.h"
#include "apps/structure_flags.h"
#include "apps/text_engine.h"
#include "lattice/result.h"

namespace lattice::apps {

/// What a conversation is opened with.
struct ChatFlags {
  TextModelFlags model;
  SamplingFlags sampling;
  StructureFlags structure;
  std::string template_name;  ///< Empty: the model's default.
  std::string system;
  bool no_think = false;
  std::optional<std::size_t> reasoning_budget;
};

/// A model and the conversation with it.
struct OpenedChat {
  std::unique_ptr<TextEngine> engine;
  std::unique_ptr<ChatSession> session;  ///< Uses the engine.
};

/// Finds, or fetches, and loads the model and its template. The conversation is empty, its settings
/// are those of the flags over what the model's files recommend.
Result<OpenedChat> OpenChat(const ChatFlags& flags, const AppContext& context);

/// The same conversation with another model, which reads it anew: messages, thinking and seed are
/// those of `current`, of the flags the template's name does not count. `current` is not changed.
/// Errors  as OpenChat, and what the new template says when it cannot take these messages.
Result<OpenedChat> OpenWithModel(const std::string& model, ChatFlags flags, ChatSession& current,
                                 const AppContext& context);

}  // namespace lattice::apps
