#include "engine/generator.h"

#include <algorithm>
#include <string>

#include "lattice/check.h"

namespace lattice::engine {
namespace {

Error Cancelled() { return {ErrorCode::kCancelled, "stopped while reading the prompt"}; }

Error TooLong(std::size_t n_prompt, std::size_t n_context) {
  return {ErrorCode::kResourceExhausted, "the prompt has " + std::to_string(n_prompt) +
                                             " tokens, the context holds " +
                                             std::to_string(n_context)};
}

}  // namespace

Generator::Generator(const TextModel& model, kernels::Backend& backend, std::size_t prompt_chunk)
    : model_(model), backend_(backend), prompt_chunk_(prompt_chunk), workspace_(backend) {
  LATTICE_CHECK(prompt_chunk > 0);
}

Status Generator::Step(std::span<const TokenId> ids, bool wants_logits, ContextCache& context) {
  LATTICE_TRY(models::Sequence * sequence, context.Reserve(ids.size()));
  const models::SequenceRows rows{0, static_cast<std::uint32_t>(ids.size())};
  last_row_.assign(1, rows.end - 1);
  models::Sequence* const states[] = {sequence};
  const models::Batch batch{ids, {}, {&rows, 1}, last_row_, states};
  const kernels::Buffer& hidden = model_.model->Forward(batch, workspace_);
  context.Append(ids);
  if (!wants_logits) return Ok();
  const kernels::Buffer& logits = model_.model->Logits(hidden, {}, workspace_);
  logits_.resize(logits.cols());
  backend_.Read(logits, logits_);
  return Ok();
}

Status Generator::Read(std::span<const TokenId> ids, const std::stop_token& stop,
                       ContextCache& context) {
  for (std::size_t begin = 0; begin < ids.size(); begin += prompt_chunk_) {
    if (stop.stop_requested()) return Cancelled();
    const std::size_t n = std::min(prompt_chunk_, ids.size() - begin);
    LATTICE_TRY_VOID(Step(ids.subspan(begin, n), begin + n == ids.size(), context));
  }
  return Ok();
}

Result<Generation> Generator::Run(std::span<const TokenId> prompt, const GenerationOptions& options,
                                  ContextCache& context, TokenSink sink) {
  LATTICE_TRY_VOID(CheckPrompt(model_, prompt));
  if (prompt.size() > context.max_tokens()) return TooLong(prompt.size(), context.max_tokens());
  LATTICE_TRY(Answer answer, Answer::Begin(model_, prompt, options));
  answer.StartWork();
  LATTICE_TRY(const std::size_t n_cached, context.Reuse(prompt));
  answer.SetCached(n_cached);
  LATTICE_TRY_VOID(Read(prompt.subspan(n_cached), options.stop, context));
  LATTICE_TRY_VOID(context.Checkpoint());
  std::vector<TokenId> unread;  // of the answer
  Generation made;
  const auto keep = [&](const GeneratedToken& token) {
    if (token.id >= 0) made.ids.push_back(token.id);
    made.text += token.text;
    if (token.log_probabilities != nullptr) {
      made.log_probabilities.push_back(*token.log_probabilities);
    }
    return sink(token);
  };
  LATTICE_TRY_VOID(answer.Next(logits_));
  while (true) {
    LATTICE_TRY_VOID(answer.Show(keep));
    if (answer.finish()) break;
    const bool full = context.ids().size() + unread.size() == context.max_tokens();
    if (full || options.stop.stop_requested()) {
      LATTICE_TRY_VOID(answer.End(full ? FinishReason::kContext : FinishReason::kCancelled));
      LATTICE_TRY_VOID(answer.Show(keep));
      break;
    }
    unread.push_back(answer.last());
    LATTICE_TRY(const bool is_forced, answer.NextForced());
    if (is_forced) continue;
    for (std::size_t begin = 0; begin < unread.size(); begin += prompt_chunk_) {
      const std::size_t n = std::min(prompt_chunk_, unread.size() - begin);
      LATTICE_TRY_VOID(
          Step(std::span(unread).subspan(begin, n), begin + n == unread.size(), context));
    }
    unread.clear();
    LATTICE_TRY_VOID(answer.Next(logits_));
  }
  made.finish = *answer.finish();
  made.usage = answer.usage();
  return made;
}

}  // namespace lattice::engine
