#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/sequence_memory.h"
#include "engine/task.h"

namespace lattice::engine {

/// Deals a step's rows among the requests at work: one for each that needs one more token, with
/// those that are certain to follow the last, and a bounded number for prompts, which take turns.
class PromptTurns {
 public:
  PromptTurns(std::size_t chunk_beside_answers, std::size_t chunk_alone)
      : chunk_beside_answers_(chunk_beside_answers), chunk_alone_(chunk_alone) {}

  /// Sets n_rows of every task. A prompt that begins like one that an older request is reading
  /// waits for it; one whose beginning has been kept meanwhile goes on from there.
  ///
  /// tasks  at work, oldest first. Some get rows, if there are any.
  void Deal(std::span<const std::unique_ptr<Task>> tasks, SequenceMemory& memory);

 private:
  std::size_t chunk_beside_answers_, chunk_alone_;
  std::uint64_t last_ = 0;  // whose turn it was
  std::vector<Task*> readers_;
};

}  // namespace lattice::engine
