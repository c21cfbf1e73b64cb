#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "base/token_id.h"
#include "engine/generation.h"
#include "engine/scheduler_options.h"
#include "engine/text_model.h"
#include "kernels/api/backend.h"
#include "lattice/result.h"

namespace lattice::engine {

/// How an accepted request ended.
struct GenerationEnd {
  FinishReason finish = FinishReason::kStop;
  GenerationUsage usage;
  std::optional<std::size_t> stop_string;  ///< Which of stop_strings ended the text, if one did.
  /// The answer broke off: logits that are not finite, a mask that leaves no token, a bug. `finish`
  /// says nothing then.
  std::optional<Error> error;
};

/// One prompt and what is asked of its answer. Same model, prompt, sampling and seed: the same
/// tokens, whatever else is at work, however the prompt is cut, and whether its beginning was kept.
struct GenerationRequest {
  std::vector<TokenId> prompt;
  GenerationOptions options;
  /// Lengths of beginnings of the prompt that later prompts may share (ends of messages), in any
  /// order. Matter to models with recurrent layers only: others can be taken up anywhere.
  std::vector<std::size_t> boundaries;
  /// The request ends with FinishReason::kDeadline at the first step after it, also while it waits.
  std::optional<std::chrono::steady_clock::time_point> deadline;

  /// Called on the engine's thread, one request's calls in order. They must not block or throw:
  /// every other request waits for them. They may call Submit, but nothing that waits. The
  /// request is destroyed on that thread too. Its mask is asked there and on the pool's threads, on
  /// one at a time.
  std::function<void(const GeneratedToken&)> on_token;
  /// What the model said about each token of the prompt but the first, in order, before the first
  /// on_token; options.n_top_log_probabilities likeliest ones with each. The whole prompt is read
  /// then, whatever was read before.
  std::function<void(const decoding::LogProbabilities&)> on_prompt_token;
  /// The last call, exactly one for each request that was accepted, whatever became of it.
  std::function<void(const GenerationEnd&)> on_end;
};

/// Why a request was not accepted. No callback is called then.
struct Refusal {
  enum class Reason {
    kInvalid,    ///< An option or an id; asking again unchanged is of no use.
    kTooLong,    ///< The prompt is longer than context_tokens(). Nor here.
    kQueueFull,  ///< Later perhaps.
    kStopping,   ///< No longer here.
  };
  Reason reason = Reason::kInvalid;
  Error error;  ///< For people, with the numbers.
};

/// Figures of one moment. Totals count since the start.
struct SchedulerMetrics {
  std::size_t n_waiting = 0;       ///< Accepted, and nothing done yet or put off.
  std::size_t n_reading = 0;       ///< At work, in their prompt.
  std::size_t n_answering = 0;     ///< At work, in their answer.
  std::size_t memory_bytes = 0;    ///< What there is,
  std::size_t used_bytes = 0;      ///< what requests at work and kept texts take of it,
  std::size_t cached_bytes = 0;    ///< and of this what is kept for later prompts, shared or not.
  std::size_t n_cached_texts = 0;  ///< Places in texts that a prompt can be taken up from.

  std::uint64_t n_accepted = 0;
  std::uint64_t n_refused = 0;
  std::uint64_t n_finished = 0;   ///< By stop, length or context.
  std::uint64_t n_cancelled = 0;  ///< Deadlines too.
  std::uint64_t n_failed = 0;
  std::uint64_t n_put_off = 0;      ///< Times that a request gave its memory to an older one.
  std::uint64_t n_cache_hits = 0;   ///< Requests of which something had been read before.
  std::uint64_t prompt_tokens = 0;  ///< Of requests whose prompt has been read,
  std::uint64_t cached_tokens = 0;  ///< and of these the ones that were read before.
  std::uint64_t generated_tokens = 0;
  std::uint64_t forced_tokens = 0;  ///< Of them: certain beforehand, no pass was made for each.
  std::uint64_t n_steps = 0;        ///< Forward passes.
};

/// Answers many requests at once with one model. One thread of its own does all the work, in steps:
/// each step is one pass over a row of every answer in the making and a bounded number of rows of
/// prompts, which take turns. Requests start in the order in which they came, when a place and the
/// memory for their prompt are free. When memory runs out later, the youngest one gives up its own
/// and goes on, with the same tokens, when there is room again. All methods may be called from any
/// thread.
class Scheduler {
 public:
  /// All references must outlive it. `pool` is the backend's; whoever else calls it takes turns.
  /// kInvalidArgument (a number that is 0, keys that kv_type cannot hold), kResourceExhausted (the
  /// memory has no room for one page and the states of max_sequences: the numbers).
  static Result<std::unique_ptr<Scheduler>> Start(const TextModel& model, kernels::Backend& backend,
                                                  ThreadPool& pool,
                                                  const SchedulerOptions& options);
  /// Stop().
  ~Scheduler();

  /// Takes a request up, or says at once why not. To cancel it, use its stop_token: its place and
  /// memory are free after the step at hand.
  std::optional<Refusal> Submit(GenerationRequest request);

  /// Longest prompt, and how many tokens of prompt and answer are read at most. (The last token of
  /// an answer need not be.)
  std::size_t context_tokens() const;

  /// Takes no more requests and waits until all have ended, at most until then. True when they
  /// have. Not from a callback.
  bool Drain(std::chrono::steady_clock::time_point until);
  /// Takes no more requests, cancels all, and waits for their ends and the thread's. Not from a
  /// callback.
  void Stop();

  SchedulerMetrics metrics() const;
  /// Forgets all that is kept of texts nobody works at, before the next step.
  void ClearCache();

 private:
  struct Impl;
  explicit Scheduler(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lattice::engine
