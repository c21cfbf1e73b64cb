#include "engine/prompt_turns.h"

#include <algorithm>

#include "engine/common_beginning.h"

namespace lattice::engine {
namespace {

// A shorter common beginning is read sooner than waited for.
constexpr std::size_t kWorthWaiting = 64;

// Of prompts whose every row gets logits, which are as wide as the vocabulary.
constexpr std::size_t kToldRows = 32;

/// Whether an older task is about to read what `task` reads next; it is then told to keep it.
bool WaitsForOlder(const Task& task, std::span<const std::unique_ptr<Task>> tasks) {
  const auto own = std::span(task.ids).first(task.ids.size() - 1);
  for (const auto& older : tasks) {
    if (older->number >= task.number) break;
    if (!older->is_reading()) continue;
    const std::size_t n = CommonBeginning(older->ids, own);
    if (n < task.n_read() + kWorthWaiting || n <= older->n_read()) continue;
    older->AddPlace(n);
    older->n_rows = std::min(older->n_rows, n - older->n_read());  // it may have had its turn
    return true;
  }
  return false;
}

void GoOnFromKept(Task& task, SequenceMemory& memory) {
  auto further = memory.BeginFurther(task.ids, task.n_read());
  if (further == nullptr) return;
  task.sequence = std::move(further);
  // What the other sequence had is free now; a failure shows when the rows are read.
  memory.Reserve(*task.sequence, task.n_left());
}

}  // namespace

void PromptTurns::Deal(std::span<const std::unique_ptr<Task>> tasks, SequenceMemory& memory) {
  readers_.clear();
  for (const auto& task : tasks) {
    task->n_rows = task->is_reading() ? 0 : task->n_left();
    if (task->is_reading()) readers_.push_back(task.get());
  }
  std::size_t left_to_tell = kToldRows;
  std::size_t left = readers_.size() < tasks.size() ? chunk_beside_answers_ : chunk_alone_;
  const auto next =
      std::ranges::find_if(readers_, [&](const Task* task) { return task->number > last_; });
  std::rotate(readers_.begin(), next, readers_.end());
  for (Task* task : readers_) {
    if (left == 0) break;
    const bool tells = task->n_to_tell() > 0;
    if (memory.keeps_texts() && !tells) {
      if (WaitsForOlder(*task, tasks)) continue;
      GoOnFromKept(*task, memory);
    }
    const std::size_t most = tells ? std::min(left, left_to_tell) : left;
    if (most == 0) continue;
    task->n_rows = task->RowsToPlace(std::min(most, task->n_left()));
    left -= task->n_rows;
    if (tells) left_to_tell -= task->n_rows;
    last_ = task->number;
  }
}

}  // namespace lattice::engine
