#include "server/anthropic/messages_writer.h"

#include <boost/json/serialize.hpp>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"
#include "server/anthropic/messages_request.h"

namespace lattice::server {
namespace {

using boost::json::object;
using boost::json::serialize;
using boost::json::value;

const char* ErrorName(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    default:
      return status >= 500 ? "api_error" : "invalid_request_error";
  }
}

std::string ErrorText(const ApiError& error, const std::string& request_id) {
  object inner{{"type", ErrorName(error.status)}, {"message", ToValidUtf8(error.message)}};
  if (error.code == kNoThreads) {
    boost::json::array unsupported;
    unsupported.emplace_back(error.param);
    inner["details"] = {{"error_code", error.code}, {"unsupported", std::move(unsupported)}};
  }
  return serialize(
      object{{"type", "error"}, {"error", std::move(inner)}, {"request_id", request_id}});
}

const char* StopReason(const ChatChoice& answer) {
  if (answer.stop_string) return "stop_sequence";
  if (answer.ends_in_calls()) return "tool_use";
  switch (answer.finish) {
    case engine::FinishReason::kLength:
      return "max_tokens";
    case engine::FinishReason::kContext:
      return "model_context_window_exceeded";
    default:
      return "end_turn";
  }
}

value StopSequence(const ChatChoice& answer) {
  if (!answer.stop_string) return nullptr;
  return value(*answer.stop_string);
}

/// With the whole of a text or of thinking; a call's input is left to the caller.
object BlockJson(const ChatPart& part, const std::string& text) {
  switch (part.kind) {
    case ChatPart::Kind::kReasoning:
      return {{"type", "thinking"}, {"thinking", text}, {"signature", ""}};
    case ChatPart::Kind::kText:
      return {{"type", "text"}, {"text", text}};
    case ChatPart::Kind::kCall:
      break;
  }
  return {
      {"type", "tool_use"}, {"id", part.call.id}, {"name", part.call.name}, {"input", object()}};
}

object DeltaJson(const ChatPart& part) {
  switch (part.kind) {
    case ChatPart::Kind::kReasoning:
      return {{"type", "thinking_delta"}, {"thinking", part.text}};
    case ChatPart::Kind::kText:
      return {{"type", "text_delta"}, {"text", part.text}};
    case ChatPart::Kind::kCall:
      break;
  }
  return {{"type", "input_json_delta"}, {"partial_json", part.call.arguments}};
}

void EmitEvent(object event, const EmitPiece& emit) {
  const std::string name(event.at("type").get_string());
  emit(NamedEvent(name, serialize(event)));
}

}  // namespace

std::string MessagesDialect::idle_piece() const { return NamedEvent("ping", R"({"type":"ping"})"); }

HttpResponse MessagesDialect::Failure(const ApiError& error) const {
  return MessagesFailure(error, request_id_);
}

std::string MessagesDialect::FailurePiece(const ApiError& error) const {
  return NamedEvent("error", ErrorText(error, request_id_));
}

HttpResponse MessagesFailure(const ApiError& error, const std::string& request_id) {
  HttpResponse response = ErrorResponse(error);
  response.body = ErrorText(error, request_id);
  response.headers.emplace_back("request-id", request_id);
  return response;
}

MessagesWriter::MessagesWriter(AnswerHead head, std::string request_id, std::size_t n_prompt)
    : MessagesDialect(std::move(request_id)), head_(std::move(head)), n_prompt_(n_prompt) {}

object MessagesWriter::MessageJson(boost::json::array content, const ChatChoice* answer) const {
  const std::size_t n_generated = answer == nullptr ? 0 : answer->usage.n_generated;
  return {{"id", head_.id},
          {"type", "message"},
          {"role", "assistant"},
          {"model", head_.model},
          {"content", std::move(content)},
          {"stop_reason", answer == nullptr ? value(nullptr) : value(StopReason(*answer))},
          {"stop_sequence", answer == nullptr ? value(nullptr) : StopSequence(*answer)},
          // The whole prompt, as count_tokens says it; none of it is counted a second time.
          {"usage",
           {{"input_tokens", n_prompt_},
            {"output_tokens", n_generated},
            {"cache_creation_input_tokens", 0},
            {"cache_read_input_tokens", 0}}}};
}

void MessagesWriter::Begin(const EmitPiece& emit) {
  EmitEvent({{"type", "message_start"}, {"message", MessageJson({}, nullptr)}}, emit);
  emit(idle_piece());
}

void MessagesWriter::CloseBlock(const EmitPiece& emit) {
  if (!open_) return;
  EmitEvent({{"type", "content_block_stop"}, {"index", n_blocks_++}}, emit);
  open_.reset();
}

void MessagesWriter::Write(std::size_t, const ChatPart& part, const EmitPiece& emit) {
  if (open_ != part.kind || part.kind == ChatPart::Kind::kCall) {
    CloseBlock(emit);
    EmitEvent({{"type", "content_block_start"},
               {"index", n_blocks_},
               {"content_block", BlockJson(part, "")}},
              emit);
    open_ = part.kind;
  }
  EmitEvent({{"type", "content_block_delta"}, {"index", n_blocks_}, {"delta", DeltaJson(part)}},
            emit);
}

void MessagesWriter::End(std::size_t, const ChatChoice& answer, const EmitPiece& emit) {
  CloseBlock(emit);
  EmitEvent(
      {{"type", "message_delta"},
       {"delta", {{"stop_reason", StopReason(answer)}, {"stop_sequence", StopSequence(answer)}}},
       {"usage", {{"output_tokens", answer.usage.n_generated}}}},
      emit);
}

void MessagesWriter::Close(const TokenTotals&, const EmitPiece& emit) {
  EmitEvent({{"type", "message_stop"}}, emit);
}

std::string MessagesWriter::Whole(std::span<const ChatChoice> choices, const TokenTotals&) {
  const ChatChoice& answer = choices.front();
  boost::json::array content;
  for (const ChatPart& part : answer.parts) {
    object block = BlockJson(part, part.text);
    if (part.kind == ChatPart::Kind::kCall) {
      block["input"] = ParseJson(part.call.arguments).value();  // It is an object: see ChatPart.
    }
    content.push_back(std::move(block));
  }
  return serialize(MessageJson(std::move(content), &answer));
}

}  // namespace lattice::server
