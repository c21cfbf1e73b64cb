#include "server/openai/completion_answer.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <utility>

#include "server/openai/answer_json.h"

namespace lattice::server {
namespace {

std::size_t CountCharacters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

void AppendAll(const boost::json::array& from, boost::json::array& to) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

void CompletionAnswer::LogProbabilityLists::Append(const LogProbabilityLists& more) {
  AppendAll(more.tokens, tokens);
  AppendAll(more.token_logprobs, token_logprobs);
  AppendAll(more.top_logprobs, top_logprobs);
  AppendAll(more.text_offset, text_offset);
}

std::string CompletionAnswer::LogProbabilityLists::Json() const {
  return boost::json::serialize(boost::json::object{{"tokens", tokens},
                                                    {"token_logprobs", token_logprobs},
                                                    {"top_logprobs", top_logprobs},
                                                    {"text_offset", text_offset}});
}

CompletionAnswer::CompletionAnswer(CompletionAnswerOptions options,
                                   std::shared_ptr<const tokenizers::Tokenizer> tokenizer)
    : options_(std::move(options)),
      tokenizer_(std::move(tokenizer)),
      head_(HeadJson(options_.head, "text_completion")),
      choices_(options_.n_prompts * options_.n_per_prompt) {}

std::string CompletionAnswer::Chunk(std::size_t index, const std::string& text,
                                    const std::string& logprobs,
                                    const std::string& finish_reason) const {
  return DataEvent(head_ + ",\"choices\":[{\"index\":" + std::to_string(index) +
                   ",\"text\":" + Quoted(text) + ",\"logprobs\":" + logprobs +
                   ",\"finish_reason\":" + finish_reason + "}]" +
                   (options_.head.include_usage ? ",\"usage\":null}" : "}"));
}

void CompletionAnswer::Begin(const Emit& emit) {
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    Choice& choice = choices_[i];
    if (!options_.echoes.empty()) choice.text = options_.echoes[i / options_.n_per_prompt];
    choice.n_characters = CountCharacters(choice.text);
    // Indices appear in order, whichever choice is the first to say something.
    if (emit) emit(Chunk(i, choice.text, "null", "null"));
    if (options_.first_tokens.empty()) continue;
    choice.is_judging = true;
    choice.n_characters = 0;
    NoteFirst(choice, options_.first_tokens[i / options_.n_per_prompt]);
  }
}

void CompletionAnswer::NoteFirst(Choice& choice, TokenId id) const {
  const std::string text = TokenString(*tokenizer_, id);
  choice.pending.tokens.emplace_back(text);
  choice.pending.token_logprobs.emplace_back(nullptr);
  choice.pending.top_logprobs.emplace_back(nullptr);
  choice.pending.text_offset.emplace_back(0);
  choice.n_characters = CountCharacters(text);
}

void CompletionAnswer::TakePromptToken(std::size_t index, const decoding::LogProbabilities& said) {
  Note(choices_[index], said);
}

/// All of the prompt's tokens have been told.
void CompletionAnswer::EndPrompt(std::size_t index, const Emit& emit) {
  Choice& choice = choices_[index];
  if (!std::exchange(choice.is_judging, false)) return;
  choice.all.Append(choice.pending);
  if (emit) emit(Chunk(index, "", choice.pending.Json(), "null"));
  choice.pending = {};
  choice.n_characters = CountCharacters(choice.text);
}

void CompletionAnswer::Note(Choice& choice, const decoding::LogProbabilities& place) const {
  const std::string text = TokenString(*tokenizer_, place.chosen.id);
  boost::json::object top;
  for (const auto& entry : place.top) {
    top[TokenString(*tokenizer_, entry.id)] = FiniteLogProbability(entry.log_probability);
  }
  choice.pending.tokens.emplace_back(text);
  choice.pending.token_logprobs.emplace_back(FiniteLogProbability(place.chosen.log_probability));
  choice.pending.top_logprobs.emplace_back(std::move(top));
  choice.pending.text_offset.emplace_back(choice.n_characters);
  choice.n_characters += CountCharacters(text);
}

bool CompletionAnswer::Take(std::size_t index, const engine::GeneratedToken& token,
                            const Emit& emit) {
  EndPrompt(index, emit);
  if (options_.only_echo) return true;
  Choice& choice = choices_[index];
  if (token.log_probabilities != nullptr) Note(choice, *token.log_probabilities);
  if (token.text.empty()) return true;
  choice.text += token.text;
  choice.all.Append(choice.pending);
  if (emit) {
    emit(Chunk(index, std::string(token.text),
               options_.with_log_probabilities ? choice.pending.Json() : "null", "null"));
  }
  choice.pending = {};
  return true;
}

void CompletionAnswer::End(std::size_t index, const engine::GenerationEnd& end, const Emit& emit) {
  EndPrompt(index, emit);
  choices_[index].finish_reason = options_.only_echo ? "length" : FinishReasonText(end.finish);
  if (emit) emit(Chunk(index, "", "null", Quoted(choices_[index].finish_reason)));
}

void CompletionAnswer::Close(const TokenTotals& totals, const Emit& emit) {
  if (options_.head.include_usage) {
    emit(DataEvent(head_ +
                   ",\"choices\":[],\"usage\":" + boost::json::serialize(UsageJson(totals)) + "}"));
  }
  emit(DataEvent("[DONE]"));
}

std::string CompletionAnswer::Whole(const TokenTotals& totals) const {
  std::string out = head_ + ",\"choices\":[";
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    const Choice& choice = choices_[i];
    if (i > 0) out += ',';
    out += "{\"index\":" + std::to_string(i) + ",\"text\":" + Quoted(choice.text) +
           ",\"logprobs\":" + (options_.with_log_probabilities ? choice.all.Json() : "null") +
           ",\"finish_reason\":" + Quoted(choice.finish_reason) + "}";
  }
  return out + "],\"usage\":" + boost::json::serialize(UsageJson(totals)) + "}";
}

}  // namespace lattice::server
