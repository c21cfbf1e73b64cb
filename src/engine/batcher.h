#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "base/token_id.h"
#include "engine/prompt_turns.h"
#include "engine/scheduler.h"
#include "engine/sequence_memory.h"
#include "engine/task.h"
#include "engine/text_model.h"
#include "kernels/api/backend.h"
#include "models/model.h"

namespace lattice::engine {

/// What a scheduler's thread does: requests in, steps, ends out. Used by one thread; tells each
/// request its tokens from within the calls here, and its end when it is told to.
class Batcher {
 public:
  /// All references must outlive it.
  Batcher(const TextModel& model, kernels::Backend& backend, ThreadPool& pool,
          const SchedulerOptions& options, std::unique_ptr<SequenceMemory> memory);

  /// Takes a task, younger than all before it.
  void Add(std::unique_ptr<Task> task);

  bool is_idle() const { return waiting_.empty() && running_.empty(); }

  /// Ends what is cancelled or overdue, starts what there is room for, and makes one pass.
  void Step();

  void EndAll(FinishReason reason);
  /// Ends all with an error, also after a Step that was left by an exception.
  void FailAll(const Error& error);
  /// Calls on_end of those that the calls above have ended; metrics() count them already. To be
  /// called after each.
  void TellEnds();
  void ClearKept() { memory_->ClearKept(); }
  void SaveKept() const { memory_->SaveKept(); }

  /// Without what only the scheduler counts.
  SchedulerMetrics metrics() const;

 private:
  void EndOverdue();
  void Admit();
  bool HasRoom(const models::Sequence& sequence, std::size_t n_tokens) const;
  bool Start(Task& task);

  void ReserveRows();
  void PutOffYoungest();

  void CollectRows();
  void Read();
  void Note(Task& task);
  std::span<const float> LogitsOf(std::size_t output) const;
  void TellPrompts();
  Status TellPrompt(Task& task, std::size_t first_output);
  void Draw();
  void Go(Task& task, const Status& drawn);
  bool Extend(Task& task);

  void End(Task& task, FinishReason reason);
  Status Show(Task& task);
  void Close(Task& task, std::optional<Error> error);
  void DropEnded();

  const TextModel& model_;
  kernels::Backend& backend_;
  ThreadPool& pool_;
  const SchedulerOptions options_;
  std::unique_ptr<SequenceMemory> memory_;
  PromptTurns turns_;
  models::Workspace workspace_;

  std::deque<std::unique_ptr<Task>> waiting_;   // oldest first; all are younger than running_
  std::vector<std::unique_ptr<Task>> running_;  // oldest first; each has a sequence
  std::vector<std::unique_ptr<Task>> ended_;    // to be told; has room for all
  std::optional<std::uint64_t> blocked_;        // found no room; nothing has become free since

  // Of the step at hand.
  struct Output {
    Task* task = nullptr;
    std::size_t index = 0;  // in outputs_
  };
  std::vector<Task*> read_;
  std::vector<Output> drawing_;  // the row of its last token
  std::vector<Output> telling_;  // the first of all its rows
  std::vector<TokenId> ids_;
  std::vector<models::SequenceRows> rows_;
  std::vector<models::Sequence*> sequences_;
  std::vector<std::uint32_t> outputs_;
  std::vector<float> logits_;
  decoding::LogProbabilityReader log_probabilities_;
  std::vector<Status> drawn_;

  SchedulerMetrics totals_;
};

}  // namespace lattice::engine
