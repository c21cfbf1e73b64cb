#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <string>

#include "server/openai/chat_writer.h"

namespace lattice::server {

/// Answers of Ollama's /api/chat and /api/generate: an object a line.
class OllamaWriter final : public ChatWriter {
 public:
  /// is_chat  messages; else the text alone.
  OllamaWriter(AnswerHead head, bool is_chat);

  std::string content_type() const override { return "application/x-ndjson"; }
  std::string idle_piece() const override { return {}; }
  HttpResponse Failure(const ApiError& error) const override;
  std::string FailurePiece(const ApiError& error) const override;

  void Begin(const EmitPiece&) override {}
  void Write(std::size_t choice, const ChatPart& part, const EmitPiece& emit) override;
  void End(std::size_t choice, const ChatChoice& answer, const EmitPiece& emit) override;
  void Close(const TokenTotals&, const EmitPiece&) override {}
  std::string Whole(std::span<const ChatChoice> choices, const TokenTotals& totals) override;

 private:
  boost::json::object Piece(const std::string& text) const;
  void Add(const ChatPart& part, boost::json::object& piece) const;
  void AddEnd(const ChatChoice& answer, boost::json::object& piece) const;

  const AnswerHead head_;
  const bool is_chat_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// {"error": TEXT}.
HttpResponse OllamaFailure(const ApiError& error);

/// "2026-01-15T12:34:56Z", of now or of a Unix time.
std::string Rfc3339(std::int64_t unix_time);
std::int64_t UnixNow();

}  // namespace lattice::server
