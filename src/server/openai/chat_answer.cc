#include "server/openai/chat_answer.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <utility>

#include "server/openai/answer_json.h"

namespace lattice::server {

ChatAnswer::ChatAnswer(ChatAnswerOptions options,
                       std::shared_ptr<const tokenizers::Tokenizer> tokenizer)
    : options_(std::move(options)),
      tokenizer_(std::move(tokenizer)),
      chunk_head_(HeadJson(options_.head, "chat.completion.chunk")) {
  for (std::size_t i = 0; i < options_.n_choices; ++i) {
    choices_.push_back(
        {.splitter = chat::ReasoningSplitter(options_.markers, options_.opens_reasoning)});
  }
}

std::string ChatAnswer::Chunk(std::size_t index, const std::string& delta,
                              const std::string& logprobs, const std::string& finish_reason) const {
  return chunk_head_ + ",\"choices\":[{\"index\":" + std::to_string(index) + ",\"delta\":" + delta +
         ",\"logprobs\":" + logprobs + ",\"finish_reason\":" + finish_reason + "}]" +
         (options_.head.include_usage ? ",\"usage\":null}" : "}");
}

void ChatAnswer::Begin(const Emit& emit) {
  if (!emit) return;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    emit(Chunk(i, R"({"role":"assistant","content":""})", "null", "null"));
  }
}

void ChatAnswer::Take(std::size_t index, const engine::GeneratedToken& token, const Emit& emit) {
  Choice& choice = choices_[index];
  const bool was_inside = choice.splitter.in_reasoning();
  const chat::SplitText split = choice.splitter.Push(token.text);
  const bool is_inside = choice.splitter.in_reasoning();
  if (token.id >= 0 && (was_inside || is_inside)) ++n_reasoning_;
  // A token that ends thinking may begin the answer; all before it belong to the thinking.
  if (was_inside || is_inside) choice.pending.clear();
  const bool counts = !is_inside && (!was_inside || !split.answer.empty());
  if (counts && token.log_probabilities != nullptr) {
    const std::string bytes = tokenizer_->TokenBytes(token.id).value_or("");
    choice.pending.push_back({LogProbabilityJson(*token.log_probabilities, *tokenizer_),
                              bytes.find_first_not_of(" \t\r\n") == bytes.npos});
  }
  Give(index, split, emit);
}

std::string ChatAnswer::TakeLogProbabilities(Choice& choice) {
  if (!options_.with_log_probabilities) return "null";
  auto begin = choice.pending.begin();
  if (choice.content.empty() && !choice.reasoning.empty()) {
    // The space between thinking and answer is not shown.
    begin = std::find_if_not(begin, choice.pending.end(),
                             [](const Pending& token) { return token.is_space; });
  }
  boost::json::array taken;
  for (; begin != choice.pending.end(); ++begin) taken.push_back(std::move(begin->json));
  choice.pending.clear();
  const std::string text = "{\"content\":" + boost::json::serialize(taken) + ",\"refusal\":null}";
  for (auto& entry : taken) choice.log_probabilities.push_back(std::move(entry));
  return text;
}

void ChatAnswer::Give(std::size_t index, const chat::SplitText& split, const Emit& emit) {
  Choice& choice = choices_[index];
  choice.reasoning += split.reasoning;
  if (emit && !split.reasoning.empty()) {
    emit(Chunk(index, "{\"reasoning_content\":" + Quoted(split.reasoning) + "}", "null", "null"));
  }
  if (split.answer.empty()) return;
  const std::string logprobs = TakeLogProbabilities(choice);
  choice.content += split.answer;
  if (emit) {
    emit(Chunk(index, "{\"content\":" + Quoted(split.answer) + "}", logprobs, "null"));
  }
}

void ChatAnswer::End(std::size_t index, const engine::GenerationEnd& end, const Emit& emit) {
  Choice& choice = choices_[index];
  Give(index, choice.splitter.Finish(), emit);
  choice.finish_reason = FinishReasonText(end.finish);
  if (emit) emit(Chunk(index, "{}", "null", Quoted(choice.finish_reason)));
}

std::string ChatAnswer::UsageEvent(const TokenTotals& totals) const {
  return chunk_head_ + ",\"choices\":[],\"usage\":" + boost::json::serialize(UsageJson(totals)) +
         "}";
}

std::string ChatAnswer::ChoiceJson(std::size_t index) const {
  const Choice& choice = choices_[index];
  boost::json::object message = {
      {"role", "assistant"}, {"content", choice.content}, {"refusal", nullptr}};
  if (!choice.reasoning.empty()) message["reasoning_content"] = choice.reasoning;
  boost::json::object json = {{"index", index},
                              {"message", std::move(message)},
                              {"logprobs", nullptr},
                              {"finish_reason", choice.finish_reason}};
  if (options_.with_log_probabilities) {
    json["logprobs"] = {{"content", choice.log_probabilities}, {"refusal", nullptr}};
  }
  return boost::json::serialize(json);
}

std::string ChatAnswer::Whole(const TokenTotals& totals) const {
  std::string out = HeadJson(options_.head, "chat.completion") + ",\"choices\":[";
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    if (i > 0) out += ',';
    out += ChoiceJson(i);
  }
  return out + "],\"usage\":" + boost::json::serialize(UsageJson(totals)) + "}";
}

}  // namespace lattice::server
