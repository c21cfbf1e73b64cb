#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <functional>
#include <optional>
#include <string>

#include "server/openai/chat_writer.h"

namespace lattice::server {

/// Objects of /v1/responses and their events. Thinking, texts and calls are items of the output, in
/// the order in which they came.
class ResponseWriter final : public ChatWriter {
 public:
  /// echo   members of the request that every object of the response has.
  /// keep   takes the answer as a message of chat/completions, and the whole response, once it is
  ///        complete; may be empty.
  using KeepAnswer = std::function<void(boost::json::object message, std::string json)>;
  ResponseWriter(AnswerHead head, boost::json::object echo, KeepAnswer keep);

  std::string FailurePiece(const ApiError& error) const override;

  void Begin(const EmitPiece& emit) override;
  void Write(std::size_t choice, const ChatPart& part, const EmitPiece& emit) override;
  void End(std::size_t choice, const ChatChoice& answer, const EmitPiece& emit) override;
  void Close(const TokenTotals& totals, const EmitPiece& emit) override;
  std::string Whole(std::span<const ChatChoice> choices, const TokenTotals& totals) override;

 private:
  boost::json::object ResponseJson(const ChatChoice* answer, const TokenTotals* totals) const;
  boost::json::object ItemJson(const ChatPart& part, std::size_t index, bool is_done) const;
  std::string ItemId(ChatPart::Kind kind, std::size_t index) const;
  void Event(boost::json::object event, const EmitPiece& emit);
  void ItemEvent(const char* name, boost::json::object more, const EmitPiece& emit);
  void OpenItem(const ChatPart& part, const EmitPiece& emit);
  void CloseItem(const EmitPiece& emit);
  void Keep(const ChatChoice& answer, std::string json) const;

  const AnswerHead head_;
  const boost::json::object echo_;
  const KeepAnswer keep_;
  std::size_t sequence_ = 0;      // of the next event
  std::size_t n_items_ = 0;       // closed
  std::optional<ChatPart> open_;  // the item that is being written
  ChatChoice answer_;             // once it has ended
};

}  // namespace lattice::server
