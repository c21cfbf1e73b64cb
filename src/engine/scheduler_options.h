#pragma once

#include <cstddef>
#include <filesystem>

#include "base/log.h"
#include "kernels/api/backend.h"

namespace lattice::engine {

struct SchedulerOptions {
  std::size_t max_sequences = 16;  ///< Requests at work at once; the others wait.
  std::size_t max_waiting = 64;    ///< Beyond it requests are refused.
  /// Tokens of one text, prompt and answer; 0: as many as the model allows. Never more than
  /// memory_bytes holds.
  std::size_t context_tokens = 0;
  kernels::KvType kv_type = kernels::KvType::kF16;
  /// For keys and values and recurrent states, of requests at work and of what is kept after them.
  /// Address space is taken at once, memory as it is written.
  std::size_t memory_bytes = std::size_t{1} << 30;
  /// Most of memory_bytes that may be kept of texts nobody works at, for prompts that begin the
  /// same way. Requests at work take it back when they need it. 0: nothing is kept.
  std::size_t cache_bytes = std::size_t{1} << 30;
  /// Where a file of what is kept outlives the scheduler: written when it stops, the most recently
  /// used texts that fit into so many bytes, and read when one starts for the same model. Empty:
  /// nowhere.
  std::filesystem::path kept_folder = {};
  std::size_t kept_file_bytes = std::size_t{1} << 30;
  LogSink log = {};  ///< Hears why such a file, or a part of it, is of no use.
  /// Models with recurrent layers can go on only from a state that was kept: at a prompt's end, at
  /// the places a request names, and each time so many tokens of a prompt have been read.
  std::size_t checkpoint_tokens = 2048;
  /// Rows of prompts in one step: how long the others wait for their next token, and how soon a
  /// request to stop is seen.
  std::size_t chunk_beside_answers = 32;  ///< While answers are in the making,
  std::size_t chunk_alone = 512;          ///< and while there are none.
};

}  // namespace lattice::engine
