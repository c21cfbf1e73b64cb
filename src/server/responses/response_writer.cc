#include "server/responses/response_writer.h"

#include <boost/json/serialize.hpp>
#include <utility>

#include "base/utf8.h"

namespace lattice::server {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::serialize;
using boost::json::value;
using Kind = ChatPart::Kind;

object PartJson(Kind kind, const std::string& text) {
  if (kind == Kind::kReasoning) return {{"type", "reasoning_text"}, {"text", text}};
  return {{"type", "output_text"}, {"text", text}, {"annotations", array()}, {"logprobs", array()}};
}

bool IsIncomplete(const ChatChoice& answer) { return answer.finish != engine::FinishReason::kStop; }

object UsageOf(const TokenTotals& totals) {
  return {{"input_tokens", totals.n_prompt},
          {"input_tokens_details", {{"cached_tokens", totals.n_cached}, {"cache_write_tokens", 0}}},
          {"output_tokens", totals.n_generated},
          {"output_tokens_details", {{"reasoning_tokens", totals.n_reasoning}}},
          {"total_tokens", totals.n_prompt + totals.n_generated}};
}

}  // namespace

ResponseWriter::ResponseWriter(AnswerHead head, object echo, KeepAnswer keep)
    : head_(std::move(head)), echo_(std::move(echo)), keep_(std::move(keep)) {}

std::string ResponseWriter::FailurePiece(const ApiError& error) const {
  return NamedEvent(
      "error",
      serialize(object{{"type", "error"},
                       {"sequence_number", sequence_},
                       {"code", error.code.empty() ? value(nullptr) : value(error.code)},
                       {"message", ToValidUtf8(error.message)},
                       {"param", error.param.empty() ? value(nullptr) : value(error.param)}}));
}

std::string ResponseWriter::ItemId(Kind kind, std::size_t index) const {
  const char* prefix = kind == Kind::kReasoning ? "rs_" : kind == Kind::kText ? "msg_" : "fc_";
  return prefix + head_.id.substr(head_.id.find('_') + 1) + "_" + std::to_string(index);
}

object ResponseWriter::ItemJson(const ChatPart& part, std::size_t index, bool is_done) const {
  const std::string id = ItemId(part.kind, index);
  const char* status = is_done ? "completed" : "in_progress";
  if (part.kind == Kind::kCall) {
    return {{"id", id},
            {"type", "function_call"},
            {"status", status},
            {"call_id", part.call.id},
            {"name", part.call.name},
            {"arguments", is_done ? part.call.arguments : std::string()}};
  }
  array content;
  if (is_done) content.push_back(PartJson(part.kind, part.text));
  if (part.kind == Kind::kReasoning) {
    return {{"id", id},
            {"type", "reasoning"},
            {"status", status},
            {"summary", array()},
            {"content", std::move(content)}};
  }
  return {{"id", id},
          {"type", "message"},
          {"status", status},
          {"role", "assistant"},
          {"content", std::move(content)}};
}

object ResponseWriter::ResponseJson(const ChatChoice* answer, const TokenTotals* totals) const {
  object json = {{"id", head_.id}, {"object", "response"}, {"created_at", head_.created}};
  const bool incomplete = answer != nullptr && IsIncomplete(*answer);
  json["status"] = answer == nullptr ? "in_progress" : incomplete ? "incomplete" : "completed";
  json["error"] = nullptr;
  json["incomplete_details"] = incomplete ? value{{"reason", "max_output_tokens"}} : value(nullptr);
  json["model"] = head_.model;
  array output;
  if (answer != nullptr) {
    for (const ChatPart& part : answer->parts) {
      output.push_back(ItemJson(part, output.size(), /*is_done=*/true));
    }
  }
  json["output"] = std::move(output);
  json["usage"] = totals == nullptr ? value(nullptr) : value(UsageOf(*totals));
  for (const auto& [key, member] : echo_) json[key] = member;
  return json;
}

void ResponseWriter::Event(object event, const EmitPiece& emit) {
  const std::string name(event.at("type").get_string());
  event["sequence_number"] = sequence_++;
  emit(NamedEvent(name, serialize(event)));
}

/// With the place of the item that is being written.
void ResponseWriter::ItemEvent(const char* name, object more, const EmitPiece& emit) {
  object event = {
      {"type", name}, {"item_id", ItemId(open_->kind, n_items_)}, {"output_index", n_items_}};
  if (open_->kind != Kind::kCall) event["content_index"] = 0;
  for (auto& member : more) event[member.key()] = std::move(member.value());
  Event(std::move(event), emit);
}

void ResponseWriter::Begin(const EmitPiece& emit) {
  for (const char* name : {"response.created", "response.in_progress"}) {
    Event({{"type", name}, {"response", ResponseJson(nullptr, nullptr)}}, emit);
  }
}

void ResponseWriter::OpenItem(const ChatPart& part, const EmitPiece& emit) {
  open_ = ChatPart{.kind = part.kind, .call = part.call};
  Event({{"type", "response.output_item.added"},
         {"output_index", n_items_},
         {"item", ItemJson(*open_, n_items_, /*is_done=*/false)}},
        emit);
  if (part.kind == Kind::kCall) return;
  ItemEvent("response.content_part.added", {{"part", PartJson(part.kind, "")}}, emit);
}

void ResponseWriter::CloseItem(const EmitPiece& emit) {
  if (!open_) return;
  if (open_->kind == Kind::kCall) {
    ItemEvent("response.function_call_arguments.done",
              {{"name", open_->call.name}, {"arguments", open_->call.arguments}}, emit);
  } else {
    const bool is_text = open_->kind == Kind::kText;
    object done = {{"text", open_->text}};
    if (is_text) done["logprobs"] = array();
    ItemEvent(is_text ? "response.output_text.done" : "response.reasoning_text.done",
              std::move(done), emit);
    ItemEvent("response.content_part.done", {{"part", PartJson(open_->kind, open_->text)}}, emit);
  }
  Event({{"type", "response.output_item.done"},
         {"output_index", n_items_},
         {"item", ItemJson(*open_, n_items_, /*is_done=*/true)}},
        emit);
  ++n_items_;
  open_.reset();
}

void ResponseWriter::Write(std::size_t, const ChatPart& part, const EmitPiece& emit) {
  if (!open_ || open_->kind != part.kind || part.kind == Kind::kCall) {
    CloseItem(emit);
    OpenItem(part, emit);
  }
  if (part.kind == Kind::kCall) {
    return ItemEvent("response.function_call_arguments.delta", {{"delta", part.call.arguments}},
                     emit);
  }
  open_->text += part.text;
  object delta = {{"delta", part.text}};
  if (part.kind == Kind::kText) delta["logprobs"] = array();
  ItemEvent(
      part.kind == Kind::kText ? "response.output_text.delta" : "response.reasoning_text.delta",
      std::move(delta), emit);
}

void ResponseWriter::End(std::size_t, const ChatChoice& answer, const EmitPiece& emit) {
  CloseItem(emit);
  answer_ = answer;
}

void ResponseWriter::Close(const TokenTotals& totals, const EmitPiece& emit) {
  object response = ResponseJson(&answer_, &totals);
  Keep(answer_, serialize(response));
  const char* name = IsIncomplete(answer_) ? "response.incomplete" : "response.completed";
  Event({{"type", name}, {"response", std::move(response)}}, emit);
}

std::string ResponseWriter::Whole(std::span<const ChatChoice> choices, const TokenTotals& totals) {
  std::string json = serialize(ResponseJson(&choices.front(), &totals));
  Keep(choices.front(), json);
  return json;
}

void ResponseWriter::Keep(const ChatChoice& answer, std::string json) const {
  if (!keep_) return;
  object message = {{"role", "assistant"}, {"content", answer.Joined(Kind::kText)}};
  const std::string reasoning = answer.Joined(Kind::kReasoning);
  if (!reasoning.empty()) message["reasoning_content"] = reasoning;
  array calls;
  for (const ChatPart& part : answer.parts) {
    if (part.kind != Kind::kCall) continue;
    calls.push_back({{"id", part.call.id},
                     {"type", "function"},
                     {"function", {{"name", part.call.name}, {"arguments", part.call.arguments}}}});
  }
  if (!calls.empty()) message["tool_calls"] = std::move(calls);
  keep_(std::move(message), std::move(json));
}

}  // namespace lattice::server
