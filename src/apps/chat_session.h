#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/text_engine.h"
#include "base/function_ref.h"
#include "chat/chat_prompt.h"
#include "chat/message.h"
#include "decoding/logit_mask.h"
#include "engine/generator.h"
#include "grammar/automaton.h"

namespace lattice::apps {

/// How the model is to think, if its template knows thinking.
struct ThinkingOptions {
  std::optional<bool> enabled;        ///< Absent: as the template does by itself.
  std::optional<std::size_t> budget;  ///< Tokens; absent: no limit.
};

/// One answer of the model.
struct ChatTurn {
  std::string text;
  std::string reasoning;
  engine::FinishReason finish = engine::FinishReason::kStop;
  engine::GenerationUsage usage;
};

/// What to show while an answer comes.
struct ChatDelta {
  std::string_view text;
  std::string_view reasoning;
};
using ChatSink = FunctionRef<Status(const ChatDelta&)>;

/// A conversation with one model. The model keeps what it has read: a further turn reads only what
/// is new, as far as the template repeats the rest unchanged.
class ChatSession {
 public:
  /// `engine` must outlive it.
  ChatSession(TextEngine& engine, chat::ChatTemplate chat_template);

  engine::GenerationOptions& generation() { return generation_; }
  ThinkingOptions& thinking() { return thinking_; }
  /// What every answer is held to, after its thinking; null: nothing.
  std::shared_ptr<grammar::Automaton>& structure() { return structure_; }
  const chat::Conversation& conversation() const { return conversation_; }
  /// Absent: none was set.
  std::optional<std::string> system() const;
  void SetSystem(std::string_view text);

  /// Adds a message and answers it. After an error the message is gone again.
  Result<ChatTurn> Ask(std::string_view message, const std::stop_token& stop, ChatSink sink);
  /// Answers the last message anew, with another seed. kInvalidArgument before the first one.
  Result<ChatTurn> Retry(const std::stop_token& stop, ChatSink sink);
  /// Takes back the last message and its answer. False when there is none.
  bool Undo();
  /// Goes on with the messages of another conversation. What the template says when it cannot take
  /// them and a further question; nothing changes then.
  Status Continue(const chat::Conversation& conversation);
  /// Forgets all but the system message.
  void Reset();

  /// Writes the messages to `file` and what the model has read to `file`.state beside it, so that
  /// a loaded conversation goes on without reading it all again.
  Status Save(const std::filesystem::path& file) const;
  /// A state that does not belong to these messages and this model is not used; `remark` says why.
  Status Load(const std::filesystem::path& file, std::string& remark);

  /// Entries of the vocabulary that can be drawn.
  std::size_t n_tokens() const { return engine_.model->n_tokens(); }
  const std::string& model_name() const { return engine_.model->name; }
  /// Tokens that the model has read and how many it can read.
  std::size_t n_read() const;
  std::size_t n_context() const;

 private:
  Result<ChatTurn> Answer(const std::stop_token& stop, ChatSink sink);
  chat::RenderOptions Rendering() const;
  Result<std::optional<engine::ThinkingLimit>> Limit(bool begins_inside) const;
  Result<std::shared_ptr<decoding::LogitMask>> Mask(bool begins_inside) const;

  TextEngine& engine_;
  chat::ChatFormat format_;
  chat::Conversation conversation_;
  engine::GenerationOptions generation_;
  ThinkingOptions thinking_;
  std::shared_ptr<grammar::Automaton> structure_;
};

}  // namespace lattice::apps
