#include "engine/sequence_memory.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "base/atomic_file.h"
#include "base/checked_math.h"
#include "engine/kept_texts.h"

namespace lattice::engine {
namespace {

using kernels::kPageTokens;

// A sequence store addresses no more.
constexpr std::size_t kMaxPages = (std::size_t{1} << 30) / kPageTokens;

/// Pages that fit beside the states of all requests at work; 0 when not even these do.
std::size_t PagesFor(const models::StateShape& shape, const SchedulerOptions& options) {
  const auto states = CheckedMul(options.max_sequences, shape.BytesPerSequence());
  if (!states || *states > options.memory_bytes) return 0;
  const std::size_t page_bytes = shape.BytesPerToken(options.kv_type) * kPageTokens;
  if (page_bytes == 0) return kMaxPages;
  return std::min((options.memory_bytes - *states) / page_bytes, kMaxPages);
}

std::size_t ContextFor(const models::Model& model, const SchedulerOptions& options,
                       std::size_t n_pages) {
  std::size_t n = std::min(model.info().max_tokens, n_pages * kPageTokens);
  if (options.context_tokens != 0) n = std::min(n, options.context_tokens);
  return n;
}

/// What serves one model and one way of keeping keys and values has a name of its own.
std::filesystem::path KeptFile(const models::Model& model, const SchedulerOptions& options) {
  if (options.kept_folder.empty() || options.cache_bytes == 0) return {};
  const std::string& fingerprint = model.state_shape().fingerprint;
  return options.kept_folder / (fingerprint.substr(0, 16) + "-" +
                                std::string(models::KvTypeName(options.kv_type)) + ".texts");
}

/// Only its owner may look into a folder with what users wrote.
Status MakeFolder(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::create_directories(folder, error)) {
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  }
  if (!error) return Ok();
  return Error{ErrorCode::kInvalidArgument,
               "cannot make the folder " + folder.string() + ": " + error.message()};
}

}  // namespace

Result<std::unique_ptr<SequenceMemory>> SequenceMemory::Make(const models::Model& model,
                                                             kernels::Backend& backend,
                                                             const SchedulerOptions& options) {
  const models::StateShape& shape = model.state_shape();
  const std::size_t n_pages = PagesFor(shape, options);
  if (n_pages == 0) {
    return Error{ErrorCode::kResourceExhausted,
                 "memory_bytes: " + std::to_string(options.memory_bytes) +
                     " hold no page of keys and values (" +
                     std::to_string(shape.BytesPerToken(options.kv_type) * kPageTokens) +
                     ") beside " + std::to_string(options.max_sequences) + " states of " +
                     std::to_string(shape.BytesPerSequence())};
  }
  LATTICE_TRY(auto store, models::SequenceStore::Make(shape, backend,
                                                      {options.kv_type, n_pages * kPageTokens}));
  std::unique_ptr<SequenceMemory> memory(new SequenceMemory(std::move(store), model, options));
  if (!memory->kept_file_.empty()) {
    LATTICE_TRY_VOID(MakeFolder(options.kept_folder));
    RemoveAbandonedFiles(options.kept_folder);
    memory->LoadKept();
  }
  return memory;
}

SequenceMemory::SequenceMemory(std::shared_ptr<models::SequenceStore> store,
                               const models::Model& model, const SchedulerOptions& options)
    : store_(std::move(store)),
      n_pages_(store_->max_tokens() / kPageTokens),
      page_bytes_(model.state_shape().BytesPerToken(options.kv_type) * kPageTokens),
      bytes_per_state_(model.state_shape().BytesPerSequence()),
      max_bytes_(options.memory_bytes),
      context_tokens_(ContextFor(model, options, n_pages_)),
      cache_(model.state_shape(), options.kv_type,
             std::min(options.cache_bytes, options.memory_bytes), n_pages_),
      kept_file_(KeptFile(model, options)),
      kept_file_bytes_(options.kept_file_bytes),
      log_(options.log) {}

std::size_t SequenceMemory::PagesOf(std::size_t state_bytes) const {
  return page_bytes_ == 0 ? 0 : (state_bytes + page_bytes_ - 1) / page_bytes_;
}

std::size_t SequenceMemory::FreePages() const {
  const std::size_t free = store_->free_pages();
  return free - std::min(free, PagesOf(cache_.state_bytes()));
}

std::unique_ptr<models::Sequence> SequenceMemory::Begin(std::span<const TokenId> ids) {
  if (auto kept = BeginFurther(ids, 0)) return kept;
  return BeginEmpty();
}

std::unique_ptr<models::Sequence> SequenceMemory::BeginFurther(std::span<const TokenId> ids,
                                                               std::size_t n_known) {
  if (!cache_.is_on() || ids.size() < 2) return nullptr;
  auto found = cache_.Find(ids.first(ids.size() - 1), n_known);
  return found ? std::move(found).value() : nullptr;
}

bool SequenceMemory::Reserve(models::Sequence& sequence, std::size_t n) {
  while (sequence.PagesToReserve(n) > FreePages()) {
    if (!cache_.Evict()) return false;
  }
  return sequence.Reserve(n).has_value();
}

void SequenceMemory::KeepCopy(std::span<const TokenId> ids, const models::Sequence& sequence) {
  if (!cache_.is_on() || cache_.Holds(ids)) return;
  if (auto copy = sequence.Fork()) Keep(ids, std::move(copy).value());
}

void SequenceMemory::Keep(std::span<const TokenId> ids,
                          std::unique_ptr<models::Sequence> sequence) {
  cache_.Keep(ids, std::move(sequence));
  while (PagesOf(cache_.state_bytes()) > store_->free_pages() && cache_.Evict()) {
  }
}

void SequenceMemory::LoadKept() {
  const auto keep = [&](std::vector<TokenId> ids, std::unique_ptr<models::Sequence> sequence) {
    Keep(ids, std::move(sequence));
  };
  const Status loaded = LoadTexts(kept_file_, *store_, keep, log_);
  if (loaded || loaded.error().code == ErrorCode::kNotFound || !log_) return;
  log_(LogLevel::kWarning, "kept texts are not brought back: " + loaded.error().message);
}

void SequenceMemory::SaveKept() const {
  if (kept_file_.empty() || cache_.n_texts() == 0) return;
  const Status saved = SaveTexts(kept_file_, cache_.Texts(kept_file_bytes_));
  if (saved || !log_) return;
  log_(LogLevel::kWarning, "kept texts are not written down: " + saved.error().message);
}

std::size_t SequenceMemory::used_bytes(std::size_t n_states) const {
  return (n_pages_ - store_->free_pages()) * page_bytes_ + n_states * bytes_per_state_ +
         cache_.state_bytes();
}

}  // namespace lattice::engine
