#pragma once

#include <boost/json/array.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/openai/answer_shape.h"
#include "tokenizers/tokenizer.h"

namespace lattice::server {

struct CompletionAnswerOptions {
  AnswerHead head;
  std::size_t n_per_prompt = 1;
  std::vector<std::string> echoes;  ///< [n prompts]: what stands before each answer; may be empty.
  std::size_t n_prompts = 1;
  bool with_log_probabilities = false;
  /// [n prompts]: the first token of each, about which nothing can be said; empty unless the others
  /// are told.
  std::vector<TokenId> first_tokens;
  bool only_echo = false;  ///< What the model goes on with is not wanted.
};

/// text_completion objects, of a stream and as a whole. Choices of one prompt follow each other.
class CompletionAnswer final : public AnswerShape {
 public:
  CompletionAnswer(CompletionAnswerOptions options,
                   std::shared_ptr<const tokenizers::Tokenizer> tokenizer);

  const Dialect& dialect() const override { return dialect_; }
  void Begin(const Emit& emit) override;
  void TakePromptToken(std::size_t choice, const decoding::LogProbabilities& said) override;
  bool Take(std::size_t choice, const engine::GeneratedToken& token, const Emit& emit) override;
  void End(std::size_t choice, const engine::GenerationEnd& end, const Emit& emit) override;
  std::size_t n_reasoning() const override { return 0; }
  void Close(const TokenTotals& totals, const Emit& emit) override;
  std::string Whole(const TokenTotals& totals) const override;

 private:
  /// The shape of the older API: lists that run beside each other.
  struct LogProbabilityLists {
    boost::json::array tokens, token_logprobs, top_logprobs, text_offset;
    void Append(const LogProbabilityLists& more);
    std::string Json() const;
  };
  struct Choice {
    std::string text;
    std::size_t n_characters = 0;  // of tokens whose places were noted
    LogProbabilityLists all, pending;
    bool is_judging = false;  // the prompt
    const char* finish_reason = "stop";
  };

  void NoteFirst(Choice& choice, TokenId id) const;
  void Note(Choice& choice, const decoding::LogProbabilities& place) const;
  void EndPrompt(std::size_t index, const Emit& emit);
  std::string Chunk(std::size_t index, const std::string& text, const std::string& logprobs,
                    const std::string& finish_reason) const;

  const Dialect dialect_ = {};
  const CompletionAnswerOptions options_;
  const std::shared_ptr<const tokenizers::Tokenizer> tokenizer_;
  const std::string head_;
  std::vector<Choice> choices_;
};

}  // namespace lattice::server
