#include "server/openai/chat_answer.h"

#include <algorithm>
#include <utility>

#include "base/sha256.h"
#include "server/openai/answer_json.h"

namespace lattice::server {

bool ChatChoice::calls_tools() const {
  return std::ranges::any_of(
      parts, [](const ChatPart& part) { return part.kind == ChatPart::Kind::kCall; });
}

std::string ChatChoice::Joined(ChatPart::Kind kind) const {
  std::string joined;
  for (const ChatPart& part : parts) {
    if (part.kind == kind) joined += part.text;
  }
  return joined;
}

std::string CallId(const ChatAnswerOptions& options, std::size_t choice, std::size_t call) {
  Sha256 sha;
  sha.Update(options.unique + "/" + std::to_string(choice) + "/" + std::to_string(call));
  return options.call_prefix + ToHex(sha.Finish()).substr(0, 24);
}

ChatAnswer::ChatAnswer(ChatAnswerOptions options, std::unique_ptr<ChatWriter> writer,
                       std::shared_ptr<const tokenizers::Tokenizer> tokenizer)
    : options_(std::move(options)),
      writer_(std::move(writer)),
      tokenizer_(std::move(tokenizer)),
      answers_(options_.n_choices) {
  for (std::size_t i = 0; i < options_.n_choices; ++i) {
    Choice& choice = choices_.emplace_back(
        Choice{.splitter = chat::ReasoningSplitter(options_.markers, options_.opens_reasoning),
               .parser = std::nullopt});
    if (options_.calls) choice.parser.emplace(*options_.calls, options_.tools);
  }
}

void ChatAnswer::Begin(const Emit& emit) {
  if (emit) writer_->Begin(emit);
}

bool ChatAnswer::Take(std::size_t index, const engine::GeneratedToken& token, const Emit& emit) {
  Choice& choice = choices_[index];
  if (choice.has_ended) return false;
  const bool was_inside = choice.splitter.in_reasoning();
  chat::SplitText split = choice.splitter.Push(token.text);
  const bool is_inside = choice.splitter.in_reasoning();
  if (token.id >= 0 && (was_inside || is_inside)) ++n_reasoning_;
  // A token that ends thinking may begin the answer; all before it belong to the thinking.
  if (was_inside || is_inside) choice.pending.clear();
  if (!is_inside && (!was_inside || !split.answer.empty())) Note(choice, token);
  if (!split.reasoning.empty()) {
    Give(index, {.kind = ChatPart::Kind::kReasoning, .text = std::move(split.reasoning)}, emit);
  }
  if (choice.parser) {
    GiveAnswer(index, choice.parser->Push(split.answer), emit);
  } else if (!split.answer.empty()) {
    GiveAnswer(index, {{.text = std::move(split.answer)}}, emit);
  }
  return !choice.has_ended;
}

void ChatAnswer::Note(Choice& choice, const engine::GeneratedToken& token) {
  if (token.log_probabilities == nullptr) return;
  const std::string bytes = tokenizer_->TokenBytes(token.id).value_or("");
  choice.pending.push_back({LogProbabilityJson(*token.log_probabilities, *tokenizer_),
                            bytes.find_first_not_of(" \t\r\n") == bytes.npos});
}

boost::json::array ChatAnswer::TakeLogProbabilities(std::size_t index) {
  std::vector<Pending>& pending = choices_[index].pending;
  auto begin = pending.begin();
  const std::vector<ChatPart>& parts = answers_[index].parts;
  if (!parts.empty() && parts.back().kind == ChatPart::Kind::kReasoning) {
    // The space between thinking and answer is not shown.
    begin =
        std::find_if_not(begin, pending.end(), [](const Pending& token) { return token.is_space; });
  }
  boost::json::array taken;
  for (; begin != pending.end(); ++begin) taken.push_back(std::move(begin->json));
  pending.clear();
  return taken;
}

void ChatAnswer::GiveAnswer(std::size_t index, std::vector<chat::AnswerPiece> pieces,
                            const Emit& emit) {
  for (chat::AnswerPiece& piece : pieces) {
    if (choices_[index].has_ended) return;
    if (piece.is_call()) {
      GiveCall(index, std::move(piece.call), emit);
      continue;
    }
    ChatPart part{.text = std::move(piece.text)};
    part.log_probabilities = TakeLogProbabilities(index);
    Give(index, std::move(part), emit);
  }
}

void ChatAnswer::GiveCall(std::size_t index, chat::WrittenCall call, const Emit& emit) {
  Choice& choice = choices_[index];
  choice.pending.clear();  // Tokens of calls are not of the text.
  ChatPart part{.kind = ChatPart::Kind::kCall};
  part.call = {.id = CallId(options_, index, choice.n_calls++),
               .name = std::move(call.name),
               .arguments = std::move(call.arguments)};
  Give(index, std::move(part), emit);
  choice.has_ended = !options_.parallel_calls;
}

void ChatAnswer::Give(std::size_t index, ChatPart part, const Emit& emit) {
  if (emit) writer_->Write(index, part, emit);
  std::vector<ChatPart>& parts = answers_[index].parts;
  const bool joins =
      !parts.empty() && parts.back().kind == part.kind && part.kind != ChatPart::Kind::kCall;
  if (!joins) return parts.push_back(std::move(part));
  parts.back().text += part.text;
  for (auto& entry : part.log_probabilities) {
    parts.back().log_probabilities.push_back(std::move(entry));
  }
}

void ChatAnswer::End(std::size_t index, const engine::GenerationEnd& end, const Emit& emit) {
  Choice& choice = choices_[index];
  if (!choice.has_ended) {
    chat::SplitText split = choice.splitter.Finish();
    if (!split.reasoning.empty()) {
      Give(index, {.kind = ChatPart::Kind::kReasoning, .text = std::move(split.reasoning)}, emit);
    }
    if (choice.parser) {
      GiveAnswer(index, choice.parser->Push(split.answer), emit);
      GiveAnswer(index, choice.parser->Finish(), emit);
    } else if (!split.answer.empty()) {
      GiveAnswer(index, {{.text = std::move(split.answer)}}, emit);
    }
  }
  ChatChoice& answer = answers_[index];
  answer.finish = end.finish;
  answer.usage = end.usage;
  if (end.stop_string && !choice.has_ended && *end.stop_string < options_.stop_strings.size()) {
    answer.stop_string = options_.stop_strings[*end.stop_string];
  }
  if (emit) writer_->End(index, answer, emit);
}

void ChatAnswer::Close(const TokenTotals& totals, const Emit& emit) {
  writer_->Close(totals, emit);
}

std::string ChatAnswer::Whole(const TokenTotals& totals) const {
  return writer_->Whole(answers_, totals);
}

}  // namespace lattice::server
