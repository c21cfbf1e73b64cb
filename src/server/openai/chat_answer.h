#pragma once

#include <boost/json/object.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chat/reasoning.h"
#include "chat/tools/call_parser.h"
#include "server/openai/answer_shape.h"
#include "server/openai/chat_writer.h"
#include "tokenizers/tokenizer.h"

namespace lattice::server {

struct ChatAnswerOptions {
  std::size_t n_choices = 1;
  bool with_log_probabilities = false;
  std::optional<chat::ReasoningMarkers> markers = {};
  bool opens_reasoning = false;
  std::optional<chat::CallForm> calls = {};  ///< Absent: no tools were offered.
  std::shared_ptr<const chat::OfferedTools> tools = {};
  bool parallel_calls = true;             ///< Else an answer ends with its first call.
  std::vector<std::string> stop_strings;  ///< Of the request.
  std::string call_prefix = "call_";      ///< Ids of calls begin with it,
  std::string unique = {};                ///< and are made of this text of one request.
};

/// Splits tokens into thinking, text and calls, and has a dialect's writer say them.
/// Log-probabilities are those of the tokens of the text.
class ChatAnswer final : public AnswerShape {
 public:
  ChatAnswer(ChatAnswerOptions options, std::unique_ptr<ChatWriter> writer,
             std::shared_ptr<const tokenizers::Tokenizer> tokenizer);

  const Dialect& dialect() const override { return *writer_; }
  void Begin(const Emit& emit) override;
  bool Take(std::size_t choice, const engine::GeneratedToken& token, const Emit& emit) override;
  void End(std::size_t choice, const engine::GenerationEnd& end, const Emit& emit) override;
  std::size_t n_reasoning() const override { return n_reasoning_; }
  void Close(const TokenTotals& totals, const Emit& emit) override;
  std::string Whole(const TokenTotals& totals) const override;

 private:
  struct Pending {  // a token whose text has not been given out
    boost::json::object json;
    bool is_space = false;
  };
  struct Choice {
    chat::ReasoningSplitter splitter;
    std::optional<chat::CallParser> parser;
    std::vector<Pending> pending = {};
    std::size_t n_calls = 0;
    bool has_ended = false;  // with its only call
  };

  void Note(Choice& choice, const engine::GeneratedToken& token);
  void GiveAnswer(std::size_t index, std::vector<chat::AnswerPiece> pieces, const Emit& emit);
  void GiveCall(std::size_t index, chat::WrittenCall call, const Emit& emit);
  void Give(std::size_t index, ChatPart part, const Emit& emit);
  boost::json::array TakeLogProbabilities(std::size_t index);

  const ChatAnswerOptions options_;
  const std::unique_ptr<ChatWriter> writer_;
  const std::shared_ptr<const tokenizers::Tokenizer> tokenizer_;
  std::vector<Choice> choices_;
  std::vector<ChatChoice> answers_;  // as many
  std::size_t n_reasoning_ = 0;
};

/// The id of a call: unique among those of all requests.
std::string CallId(const ChatAnswerOptions& options, std::size_t choice, std::size_t call);

}  // namespace lattice::server
