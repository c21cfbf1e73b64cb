#include "server/openai/chat_chunks.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "server/openai/answer_json.h"

namespace lattice::server {
namespace {

const char* FinishText(const ChatChoice& choice) {
  return choice.ends_in_calls() ? "tool_calls" : FinishReasonText(choice.finish);
}

std::string LogProbabilitiesText(const boost::json::array& entries) {
  return "{\"content\":" + boost::json::serialize(entries) + ",\"refusal\":null}";
}

boost::json::object CallJson(const chat::ToolCall& call) {
  return {{"id", call.id},
          {"type", "function"},
          {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
}

}  // namespace

ChatChunks::ChatChunks(AnswerHead head, std::size_t n_choices, bool with_log_probabilities)
    : head_(std::move(head)),
      with_log_probabilities_(with_log_probabilities),
      chunk_head_(HeadJson(head_, "chat.completion.chunk")),
      n_calls_(n_choices) {}

void ChatChunks::Chunk(std::size_t index, const std::string& delta, const std::string& logprobs,
                       const std::string& finish_reason, const EmitPiece& emit) const {
  emit(DataEvent(chunk_head_ + ",\"choices\":[{\"index\":" + std::to_string(index) + ",\"delta\":" +
                 delta + ",\"logprobs\":" + logprobs + ",\"finish_reason\":" + finish_reason +
                 "}]" + (head_.include_usage ? ",\"usage\":null}" : "}")));
}

void ChatChunks::Begin(const EmitPiece& emit) {
  for (std::size_t i = 0; i < n_calls_.size(); ++i) {
    Chunk(i, R"({"role":"assistant","content":""})", "null", "null", emit);
  }
}

void ChatChunks::Write(std::size_t index, const ChatPart& part, const EmitPiece& emit) {
  switch (part.kind) {
    case ChatPart::Kind::kReasoning:
      return Chunk(index, "{\"reasoning_content\":" + Quoted(part.text) + "}", "null", "null",
                   emit);
    case ChatPart::Kind::kText:
      return Chunk(index, "{\"content\":" + Quoted(part.text) + "}",
                   with_log_probabilities_ ? LogProbabilitiesText(part.log_probabilities) : "null",
                   "null", emit);
    case ChatPart::Kind::kCall:
      return WriteCall(index, part.call, emit);
  }
}

/// Name and id once, then the arguments: clients join what comes for one index.
void ChatChunks::WriteCall(std::size_t index, const chat::ToolCall& call, const EmitPiece& emit) {
  const std::size_t place = n_calls_[index]++;
  boost::json::object begin = CallJson({.id = call.id, .name = call.name, .arguments = ""});
  begin["index"] = place;
  const boost::json::object arguments = {{"index", place},
                                         {"function", {{"arguments", call.arguments}}}};
  for (const auto& fragment : {begin, arguments}) {
    Chunk(index, "{\"tool_calls\":[" + boost::json::serialize(fragment) + "]}", "null", "null",
          emit);
  }
}

void ChatChunks::End(std::size_t index, const ChatChoice& answer, const EmitPiece& emit) {
  Chunk(index, "{}", "null", Quoted(FinishText(answer)), emit);
}

void ChatChunks::Close(const TokenTotals& totals, const EmitPiece& emit) {
  if (head_.include_usage) {
    emit(DataEvent(chunk_head_ +
                   ",\"choices\":[],\"usage\":" + boost::json::serialize(UsageJson(totals)) + "}"));
  }
  emit(DataEvent("[DONE]"));
}

std::string ChatChunks::ChoiceJson(std::size_t index, const ChatChoice& choice) const {
  boost::json::object message = {{"role", "assistant"}, {"content", nullptr}, {"refusal", nullptr}};
  boost::json::array calls, log_probabilities;
  for (const ChatPart& part : choice.parts) {
    if (part.kind == ChatPart::Kind::kCall) calls.push_back(CallJson(part.call));
    log_probabilities.insert(log_probabilities.end(), part.log_probabilities.begin(),
                             part.log_probabilities.end());
  }
  const std::string text = choice.Joined(ChatPart::Kind::kText);
  if (!text.empty() || calls.empty()) message["content"] = text;
  const std::string reasoning = choice.Joined(ChatPart::Kind::kReasoning);
  if (!reasoning.empty()) message["reasoning_content"] = reasoning;
  if (!calls.empty()) message["tool_calls"] = std::move(calls);
  boost::json::object json = {{"index", index},
                              {"message", std::move(message)},
                              {"logprobs", nullptr},
                              {"finish_reason", FinishText(choice)}};
  if (with_log_probabilities_) {
    json["logprobs"] = {{"content", std::move(log_probabilities)}, {"refusal", nullptr}};
  }
  return boost::json::serialize(json);
}

std::string ChatChunks::Whole(std::span<const ChatChoice> choices, const TokenTotals& totals) {
  std::string out = HeadJson(head_, "chat.completion") + ",\"choices\":[";
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) out += ',';
    out += ChoiceJson(i, choices[i]);
  }
  return out + "],\"usage\":" + boost::json::serialize(UsageJson(totals)) + "}";
}

}  // namespace lattice::server
