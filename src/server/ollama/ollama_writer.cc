#include "server/ollama/ollama_writer.h"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <ctime>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"

namespace lattice::server {
namespace {

using boost::json::object;
using boost::json::serialize;

std::string ErrorText(const ApiError& error) {
  return serialize(object{{"error", ToValidUtf8(error.message)}});
}

std::int64_t Nanoseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

}  // namespace

std::int64_t UnixNow() { return static_cast<std::int64_t>(std::time(nullptr)); }

std::string Rfc3339(std::int64_t unix_time) {
  const auto time = static_cast<std::time_t>(unix_time);
  std::tm utc{};
  gmtime_r(&time, &utc);
  char text[40];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

HttpResponse OllamaFailure(const ApiError& error) {
  HttpResponse response = ErrorResponse(error);
  response.body = ErrorText(error);
  return response;
}

OllamaWriter::OllamaWriter(AnswerHead head, bool is_chat)
    : head_(std::move(head)), is_chat_(is_chat) {}

HttpResponse OllamaWriter::Failure(const ApiError& error) const { return OllamaFailure(error); }

std::string OllamaWriter::FailurePiece(const ApiError& error) const {
  return ErrorText(error) + "\n";
}

object OllamaWriter::Piece(const std::string& text) const {
  object piece = {{"model", head_.model}, {"created_at", Rfc3339(UnixNow())}};
  if (is_chat_) {
    piece["message"] = {{"role", "assistant"}, {"content", text}};
  } else {
    piece["response"] = text;
  }
  piece["done"] = false;
  return piece;
}

/// Thinking and calls; texts are the piece's already.
void OllamaWriter::Add(const ChatPart& part, object& piece) const {
  object& to = is_chat_ ? piece["message"].get_object() : piece;
  if (part.kind == ChatPart::Kind::kReasoning) {
    to["thinking"] = part.text;
  } else if (part.kind == ChatPart::Kind::kCall) {
    if (!to.contains("tool_calls")) to["tool_calls"] = boost::json::array();
    // The arguments are an object: see ChatPart.
    to["tool_calls"].get_array().push_back(
        {{"id", part.call.id},
         {"function",
          {{"name", part.call.name}, {"arguments", ParseJson(part.call.arguments).value()}}}});
  }
}

void OllamaWriter::AddEnd(const ChatChoice& answer, object& piece) const {
  const std::chrono::duration<double> total = std::chrono::steady_clock::now() - begin_;
  const bool stopped = answer.finish == engine::FinishReason::kStop;
  piece["done"] = true;
  piece["done_reason"] = stopped ? "stop" : "length";
  piece["total_duration"] = Nanoseconds(total.count());
  piece["load_duration"] = 0;
  piece["prompt_eval_count"] = answer.usage.n_prompt;
  piece["prompt_eval_duration"] = Nanoseconds(answer.usage.prompt_seconds);
  piece["eval_count"] = answer.usage.n_generated;
  piece["eval_duration"] = Nanoseconds(answer.usage.decode_seconds);
}

void OllamaWriter::Write(std::size_t, const ChatPart& part, const EmitPiece& emit) {
  object piece = Piece(part.kind == ChatPart::Kind::kText ? part.text : "");
  Add(part, piece);
  emit(serialize(piece) + "\n");
}

void OllamaWriter::End(std::size_t, const ChatChoice& answer, const EmitPiece& emit) {
  object piece = Piece("");
  AddEnd(answer, piece);
  emit(serialize(piece) + "\n");
}

std::string OllamaWriter::Whole(std::span<const ChatChoice> choices, const TokenTotals&) {
  const ChatChoice& answer = choices.front();
  object piece = Piece(answer.Joined(ChatPart::Kind::kText));
  const std::string thinking = answer.Joined(ChatPart::Kind::kReasoning);
  if (!thinking.empty()) Add({.kind = ChatPart::Kind::kReasoning, .text = thinking}, piece);
  for (const ChatPart& part : answer.parts) {
    if (part.kind == ChatPart::Kind::kCall) Add(part, piece);
  }
  AddEnd(answer, piece);
  return serialize(piece);
}

}  // namespace lattice::server
