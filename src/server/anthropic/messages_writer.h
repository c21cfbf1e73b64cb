#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <optional>
#include <string>

#include "server/openai/chat_writer.h"

namespace lattice::server {

/// How Anthropic's API fails, and fills silence.
class MessagesDialect : public ChatWriter {
 public:
  explicit MessagesDialect(std::string request_id) : request_id_(std::move(request_id)) {}

  HeaderList headers() const override { return {{"request-id", request_id_}}; }
  std::string idle_piece() const override;
  HttpResponse Failure(const ApiError& error) const override;
  std::string FailurePiece(const ApiError& error) const override;

 private:
  const std::string request_id_;
};

/// Messages of Anthropic's API and their events: thinking, texts and calls are blocks, in the order
/// in which they came.
class MessagesWriter final : public MessagesDialect {
 public:
  MessagesWriter(AnswerHead head, std::string request_id, std::size_t n_prompt);

  void Begin(const EmitPiece& emit) override;
  void Write(std::size_t choice, const ChatPart& part, const EmitPiece& emit) override;
  void End(std::size_t choice, const ChatChoice& answer, const EmitPiece& emit) override;
  void Close(const TokenTotals& totals, const EmitPiece& emit) override;
  std::string Whole(std::span<const ChatChoice> choices, const TokenTotals& totals) override;

 private:
  boost::json::object MessageJson(boost::json::array content, const ChatChoice* answer) const;
  void CloseBlock(const EmitPiece& emit);

  const AnswerHead head_;
  const std::size_t n_prompt_;
  std::optional<ChatPart::Kind> open_;  // block
  std::size_t n_blocks_ = 0;            // closed
};

/// An error as Anthropic's clients read it.
HttpResponse MessagesFailure(const ApiError& error, const std::string& request_id);

}  // namespace lattice::server
