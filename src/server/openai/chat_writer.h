#pragma once

#include <boost/json/array.hpp>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "chat/message.h"
#include "engine/generation.h"
#include "server/openai/answer_shape.h"

namespace lattice::server {

/// A piece of an answer in a conversation, in the words of no dialect.
struct ChatPart {
  enum class Kind { kReasoning, kText, kCall };
  Kind kind = Kind::kText;
  std::string text = {};                      ///< Of thinking or text.
  chat::ToolCall call = {};                   ///< Whole: the arguments are a JSON object.
  boost::json::array log_probabilities = {};  ///< Of the tokens of a text, if they are asked for.
};

/// One answer so far. Parts of a kind that follow each other are one.
struct ChatChoice {
  std::vector<ChatPart> parts = {};
  engine::FinishReason finish = engine::FinishReason::kStop;
  std::optional<std::string> stop_string = {};  ///< That ended it.
  engine::GenerationUsage usage = {};

  bool calls_tools() const;
  /// Whether it ended to have tools called.
  bool ends_in_calls() const {
    return finish == engine::FinishReason::kStop && !stop_string && calls_tools();
  }
  /// All texts of a kind, joined.
  std::string Joined(ChatPart::Kind kind) const;
};

/// Says in a dialect what an answer consists of.
class ChatWriter : public Dialect {
 public:
  virtual void Begin(const EmitPiece& emit) = 0;
  virtual void Write(std::size_t choice, const ChatPart& part, const EmitPiece& emit) = 0;
  virtual void End(std::size_t choice, const ChatChoice& answer, const EmitPiece& emit) = 0;
  /// The last pieces of a stream.
  virtual void Close(const TokenTotals& totals, const EmitPiece& emit) = 0;
  /// All of it, not streamed.
  virtual std::string Whole(std::span<const ChatChoice> choices, const TokenTotals& totals) = 0;
};

}  // namespace lattice::server
