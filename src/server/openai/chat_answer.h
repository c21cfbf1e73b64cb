#pragma once

#include <boost/json/array.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chat/reasoning.h"
#include "server/openai/answer_shape.h"
#include "tokenizers/tokenizer.h"

namespace lattice::server {

struct ChatAnswerOptions {
  AnswerHead head;
  std::size_t n_choices = 1;
  bool with_log_probabilities = false;
  std::optional<chat::ReasoningMarkers> markers = {};
  bool opens_reasoning = false;
};

/// chat.completion objects and their chunks. Thinking goes to reasoning_content, and
/// log-probabilities are those of the tokens of the content.
class ChatAnswer final : public AnswerShape {
 public:
  ChatAnswer(ChatAnswerOptions options, std::shared_ptr<const tokenizers::Tokenizer> tokenizer);

  void Begin(const Emit& emit) override;
  void Take(std::size_t choice, const engine::GeneratedToken& token, const Emit& emit) override;
  void End(std::size_t choice, const engine::GenerationEnd& end, const Emit& emit) override;
  std::size_t n_reasoning() const override { return n_reasoning_; }
  std::string UsageEvent(const TokenTotals& totals) const override;
  std::string Whole(const TokenTotals& totals) const override;

 private:
  struct Pending {  // a token whose text has not been given out
    boost::json::object json;
    bool is_space = false;
  };
  struct Choice {
    chat::ReasoningSplitter splitter;
    std::string content = {}, reasoning = {};
    std::vector<Pending> pending = {};
    boost::json::array log_probabilities = {};
    const char* finish_reason = "stop";
  };

  void Give(std::size_t index, const chat::SplitText& split, const Emit& emit);
  /// Moves what is pending to those of the content; returns them as JSON text, "null" without.
  std::string TakeLogProbabilities(Choice& choice);
  std::string Chunk(std::size_t index, const std::string& delta, const std::string& logprobs,
                    const std::string& finish_reason) const;
  std::string ChoiceJson(std::size_t index) const;

  const ChatAnswerOptions options_;
  const std::shared_ptr<const tokenizers::Tokenizer> tokenizer_;
  const std::string chunk_head_;
  std::vector<Choice> choices_;
  std::size_t n_reasoning_ = 0;
};

}  // namespace lattice::server
