#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "base/token_id.h"
#include "engine/prefix_cache.h"
#include "engine/scheduler_options.h"
#include "kernels/api/backend.h"
#include "lattice/result.h"
#include "models/model.h"
#include "models/sequence.h"

namespace lattice::engine {

/// The memory of one scheduler: a store of pages, set aside beside it the recurrent states of all
/// requests at work, and what is kept of other texts, which gives way.
class SequenceMemory {
 public:
  /// `backend` must outlive it. Errors  as Scheduler::Start.
  static Result<std::unique_ptr<SequenceMemory>> Make(const models::Model& model,
                                                      kernels::Backend& backend,
                                                      const SchedulerOptions& options);

  std::size_t n_pages() const { return n_pages_; }
  std::size_t context_tokens() const { return context_tokens_; }
  bool is_recurrent() const { return bytes_per_state_ > 0; }
  bool keeps_texts() const { return cache_.is_on(); }

  /// A sequence that has read nothing.
  std::unique_ptr<models::Sequence> BeginEmpty() { return store_->New(); }
  /// A sequence that has read as much of `ids` as is kept, but for the last token at least.
  std::unique_ptr<models::Sequence> Begin(std::span<const TokenId> ids);
  /// One that has read more than `n_known` of them; null if there is none.
  std::unique_ptr<models::Sequence> BeginFurther(std::span<const TokenId> ids, std::size_t n_known);

  /// Makes room for n more tokens; kept texts give way. False: what is not kept takes the rest, and
  /// kept texts may have gone.
  bool Reserve(models::Sequence& sequence, std::size_t n);

  /// Keeps a copy of what has read exactly these tokens, where that takes nothing from requests at
  /// work.
  void KeepCopy(std::span<const TokenId> ids, const models::Sequence& sequence);
  /// The same with the sequence itself, which is not needed any more.
  void Keep(std::span<const TokenId> ids, std::unique_ptr<models::Sequence> sequence);
  void ClearKept() { cache_.Clear(); }
  /// Writes what is kept to the file of options.kept_folder.
  void SaveKept() const;

  std::size_t max_bytes() const { return max_bytes_; }
  /// n_states  of requests at work.
  std::size_t used_bytes(std::size_t n_states) const;
  std::size_t kept_bytes() const { return cache_.bytes(); }
  std::size_t n_kept() const { return cache_.n_texts(); }

 private:
  SequenceMemory(std::shared_ptr<models::SequenceStore> store, const models::Model& model,
                 const SchedulerOptions& options);
  void LoadKept();
  /// Pages that states take the room of.
  std::size_t PagesOf(std::size_t state_bytes) const;
  std::size_t FreePages() const;

  std::shared_ptr<models::SequenceStore> store_;
  std::size_t n_pages_, page_bytes_, bytes_per_state_, max_bytes_, context_tokens_;
  PrefixCache cache_;
  std::filesystem::path kept_file_;  // empty: none
  std::size_t kept_file_bytes_;
  LogSink log_;
};

}  // namespace lattice::engine
