#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/openai/chat_writer.h"

namespace lattice::server {

/// chat.completion objects and their chunks. Thinking goes to reasoning_content.
class ChatChunks final : public ChatWriter {
 public:
  ChatChunks(AnswerHead head, std::size_t n_choices, bool with_log_probabilities);

  void Begin(const EmitPiece& emit) override;
  void Write(std::size_t choice, const ChatPart& part, const EmitPiece& emit) override;
  void End(std::size_t choice, const ChatChoice& answer, const EmitPiece& emit) override;
  void Close(const TokenTotals& totals, const EmitPiece& emit) override;
  std::string Whole(std::span<const ChatChoice> choices, const TokenTotals& totals) override;

 private:
  void Chunk(std::size_t index, const std::string& delta, const std::string& logprobs,
             const std::string& finish_reason, const EmitPiece& emit) const;
  void WriteCall(std::size_t index, const chat::ToolCall& call, const EmitPiece& emit);
  std::string ChoiceJson(std::size_t index, const ChatChoice& choice) const;

  const AnswerHead head_;
  const bool with_log_probabilities_;
  const std::string chunk_head_;
  std::vector<std::size_t> n_calls_;  // of each choice
};

}  // namespace lattice::server
