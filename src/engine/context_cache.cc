#include "engine/context_cache.h"

#include <algorithm>
#include <utility>

#include "engine/common_beginning.h"

namespace lattice::engine {

namespace {

bool IsRecurrent(const models::StateShape& shape) {
  return std::ranges::any_of(shape.layers, [](const models::LayerState& layer) {
    return layer.kind == models::LayerState::Kind::kDeltaNet;
  });
}

}  // namespace

ContextCache::ContextCache(std::shared_ptr<models::SequenceStore> store, bool recurrent,
                           const Limits& limits)
    : store_(std::move(store)), recurrent_(recurrent), limits_(limits), sequence_(store_->New()) {}

Result<ContextCache> ContextCache::Make(const models::Model& model, kernels::Backend& backend,
                                        kernels::KvType kv_type, const Limits& limits) {
  // A kept state and the one that goes on from it each have a last page of their own.
  const std::size_t own_pages = (limits.max_checkpoints + 1) * kernels::kPageTokens;
  const models::StoreOptions options{kv_type, limits.max_tokens + own_pages};
  LATTICE_TRY(auto store, models::SequenceStore::Make(model.state_shape(), backend, options));
  return ContextCache(std::move(store), IsRecurrent(model.state_shape()), limits);
}

ContextCache::Kept* ContextCache::FindKept(std::size_t n) {
  const auto after = std::ranges::find_if(kept_, [&](const Kept& k) { return k.n_tokens > n; });
  return after == kept_.begin() ? nullptr : &*std::prev(after);
}

Result<std::size_t> ContextCache::Reuse(std::span<const TokenId> prompt) {
  const std::size_t n_equal = CommonBeginning(ids_, prompt);
  std::erase_if(kept_, [&](const Kept& kept) { return kept.n_tokens > n_equal; });
  const std::size_t n_common = std::min(n_equal, prompt.empty() ? 0 : prompt.size() - 1);

  const bool whole = n_common == ids_.size();
  std::size_t cut = whole || n_common >= sequence_->earliest() ? n_common : 0;
  Kept* kept = FindKept(n_common);
  if (kept != nullptr && kept->n_tokens > cut) {
    LATTICE_TRY(sequence_, kept->sequence->Fork());
    kept->last_use = ++clock_;
    cut = kept->n_tokens;
  } else if (cut != ids_.size()) {
    LATTICE_TRY_VOID(sequence_->Truncate(cut));
  }
  ids_.resize(cut);
  return cut;
}

Result<models::Sequence*> ContextCache::Reserve(std::size_t n_tokens) {
  LATTICE_TRY_VOID(sequence_->Reserve(n_tokens));
  return sequence_.get();
}

void ContextCache::Append(std::span<const TokenId> ids) {
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  LATTICE_CHECK(ids_.size() == sequence_->n_tokens());
}

Status ContextCache::Checkpoint() {
  if (!recurrent_ || limits_.max_checkpoints == 0 || ids_.empty()) return Ok();
  if (Kept* kept = FindKept(ids_.size()); kept != nullptr && kept->n_tokens == ids_.size()) {
    kept->last_use = ++clock_;
    return Ok();
  }
  if (kept_.size() == limits_.max_checkpoints) {
    kept_.erase(std::ranges::min_element(kept_, {}, &Kept::last_use));
  }
  LATTICE_TRY(auto copy, sequence_->Fork());
  const auto after =
      std::ranges::find_if(kept_, [&](const Kept& k) { return k.n_tokens > ids_.size(); });
  kept_.insert(after, Kept{std::move(copy), ids_.size(), ++clock_});
  return Ok();
}

void ContextCache::Reset() {
  kept_.clear();
  ids_.clear();
  sequence_ = store_->New();
}

Status ContextCache::Save(const std::filesystem::path& file) const { return sequence_->Save(file); }

Status ContextCache::Load(const std::filesystem::path& file, std::vector<TokenId> ids) {
  LATTICE_TRY(auto loaded, store_->Load(file));
  if (loaded->n_tokens() != ids.size()) {
    return Error{ErrorCode::kCorruptData,
                 file.string() + ": holds " + std::to_string(loaded->n_tokens()) +
                     " tokens, the conversation beside it " + std::to_string(ids.size())};
  }
  kept_.clear();
  sequence_ = std::move(loaded);
  ids_ = std::move(ids);
  return Ok();
}

}  // namespace lattice::engine
