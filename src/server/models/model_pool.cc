#include "server/models/model_pool.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace lattice::server {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kUnknownLoadTime{2'000};

int WholeSeconds(Clock::duration time) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(time).count();
  return static_cast<int>(std::clamp<std::int64_t>(seconds, 1, 60));
}

/// Paths become their last part: where files lie is nobody's business.
std::string WithoutFolders(std::string_view message) {
  std::string out;
  while (!message.empty()) {
    const std::size_t end = std::min(message.find_first_of(" '\",:()"), message.size());
    const std::string_view word = message.substr(0, end);
    out += word.starts_with('/') ? word.substr(word.rfind('/') + 1) : word;
    if (end < message.size()) out += message[end];
    message.remove_prefix(std::min(end + 1, message.size()));
  }
  return out;
}

using Metrics = engine::SchedulerMetrics;
constexpr std::size_t Metrics::*kMoments[] = {
    &Metrics::n_waiting,  &Metrics::n_reading,    &Metrics::n_answering,   &Metrics::memory_bytes,
    &Metrics::used_bytes, &Metrics::cached_bytes, &Metrics::n_cached_texts};

void AddTotals(const Metrics& ended, Metrics& totals) {
  for (auto total : {&Metrics::n_accepted, &Metrics::n_refused, &Metrics::n_finished,
                     &Metrics::n_cancelled, &Metrics::n_failed, &Metrics::n_put_off,
                     &Metrics::n_cache_hits, &Metrics::prompt_tokens, &Metrics::cached_tokens,
                     &Metrics::generated_tokens, &Metrics::forced_tokens, &Metrics::n_steps}) {
    totals.*total += ended.*total;
  }
}

/// Memory that was freed goes back to the system, not only to this process's heap.
void ReturnFreedMemory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace

const char* ModelKindName(ModelKind kind) {
  switch (kind) {
    case ModelKind::kText:
      return "text";
    case ModelKind::kEmbedding:
      return "embedding";
    case ModelKind::kReranker:
      return "reranker";
  }
  return "";
}

/// Kept by whoever holds a model, so that a model can be given back whenever it may be.
struct ModelPool::Shared : std::enable_shared_from_this<ModelPool::Shared> {
  struct Entry {
    NamedModel named;
    std::optional<LoadedModel> model;
    std::size_t n_users = 0;
    bool wanted = false;   // to be loaded
    bool leaving = false;  // to be let go once nobody uses it
    bool loading = false;
    Clock::time_point last_use{};
    std::optional<std::string> failure;
    milliseconds pause{};
    Clock::time_point next_try{};
    Clock::duration load_time = kUnknownLoadTime;
    Clock::time_point load_begin{};
    std::uint64_t n_loads = 0;
    std::optional<std::size_t> max_tokens;
    engine::SchedulerMetrics ended;  // totals of loads that are over
  };

  Shared(std::vector<NamedModel> models, ModelPoolOptions with) : options(std::move(with)) {
    for (NamedModel& model : models) entries.emplace_back().named = std::move(model);
  }

  Entry* Find(std::string_view name);
  Entry* Choose(ModelKind kind, const std::optional<std::string>& name);
  ApiError Unknown(std::optional<ModelKind> kind) const;
  std::optional<ApiError> Take(ModelKind kind, const std::optional<std::string>& name,
                               Entry*& taken);
  template <typename Model>
  std::shared_ptr<const Model> Lend(Entry& entry, std::shared_ptr<Model> model);
  void GiveBack(Entry& entry);
  ModelState StateOf(const Entry& entry) const;
  bool IsIdle(const Entry& entry, Clock::time_point now) const;
  Status LoadEntry(Entry& entry, std::unique_lock<std::mutex>& lock);
  void FreeEntry(Entry& entry, std::unique_lock<std::mutex>& lock);
  std::optional<Clock::time_point> NextEnd() const;
  void Work();
  void Stop();

  const ModelPoolOptions options;
  mutable std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  std::vector<Entry> entries;  // their number and names never change
  bool stopping = false;
  std::thread thread;
};

ModelPool::Shared::Entry* ModelPool::Shared::Find(std::string_view name) {
  for (Entry& entry : entries) {
    const NamedModel& named = entry.named;
    if (named.id == name || std::ranges::find(named.aliases, name) != named.aliases.end()) {
      return &entry;
    }
  }
  return nullptr;
}

ModelPool::Shared::Entry* ModelPool::Shared::Choose(ModelKind kind,
                                                    const std::optional<std::string>& name) {
  for (Entry& entry : entries) {
    const NamedModel& named = entry.named;
    if (named.kind != kind) continue;
    if (!name || named.id == *name ||
        std::ranges::find(named.aliases, *name) != named.aliases.end()) {
      return &entry;
    }
  }
  return nullptr;
}

ApiError ModelPool::Shared::Unknown(std::optional<ModelKind> kind) const {
  std::string known;
  for (const Entry& entry : entries) {
    if (kind && entry.named.kind != *kind) continue;
    known += (known.empty() ? "" : ", ") + entry.named.id;
  }
  return {.status = 404,
          .message = known.empty() ? "this server has no model for that"
                                   : "there is no such model here; there are: " + known,
          .param = "model",
          .code = "model_not_found"};
}

/// Under the lock. The entry can be lent when there is no error.
std::optional<ApiError> ModelPool::Shared::Take(ModelKind kind,
                                                const std::optional<std::string>& name,
                                                Entry*& taken) {
  Entry* entry = Choose(kind, name);
  if (entry == nullptr) return Unknown(kind);
  if (stopping) {
    return ApiError{
        .status = 503, .message = "the server is shutting down", .code = "shutting_down"};
  }
  if (entry->model) {
    entry->leaving = false;  // It is wanted again before it went.
    taken = entry;
    return std::nullopt;
  }
  const Clock::time_point now = Clock::now();
  if (!entry->loading && !entry->wanted && entry->failure && now < entry->next_try) {
    return ApiError{.status = 503,
                    .message = "this model could not be loaded: " + *entry->failure,
                    .param = "model",
                    .code = "model_load_failed",
                    .retry_after_s = WholeSeconds(entry->next_try - now)};
  }
  if (!entry->loading && !entry->wanted) {
    entry->wanted = true;
    changed.notify_all();
  }
  const auto spent = entry->loading ? now - entry->load_begin : Clock::duration{};
  return ApiError{.status = 503,
                  .message = "this model is being loaded",
                  .param = "model",
                  .code = "model_loading",
                  .retry_after_s = WholeSeconds(entry->load_time - spent)};
}

/// Under the lock.
template <typename Model>
std::shared_ptr<const Model> ModelPool::Shared::Lend(Entry& entry, std::shared_ptr<Model> model) {
  ++entry.n_users;
  // The model itself must not end with its last user, on whatever thread that is.
  const Model* const lent = model.get();
  return {lent, [self = shared_from_this(), &entry](const Model*) { self->GiveBack(entry); }};
}

void ModelPool::Shared::GiveBack(Entry& entry) {
  const std::scoped_lock lock(mutex);
  entry.last_use = Clock::now();
  if (--entry.n_users == 0) changed.notify_all();
}

/// Under the lock, which engines never wait for with their own in hand.
ModelState ModelPool::Shared::StateOf(const Entry& entry) const {
  ModelState state{.id = entry.named.id,
                   .aliases = entry.named.aliases,
                   .kind = entry.named.kind,
                   .created = entry.named.created,
                   .phase = ModelState::Phase::kUnloaded,
                   .max_tokens = entry.max_tokens,
                   .failure = entry.failure,
                   .n_loads = entry.n_loads,
                   .engine = std::nullopt};
  if (entry.model) {
    state.phase = ModelState::Phase::kLoaded;
  } else if (entry.loading || entry.wanted) {
    state.phase = ModelState::Phase::kLoading;
  }
  if (entry.named.kind != ModelKind::kText) return state;
  state.engine = entry.ended;
  if (!entry.model) return state;
  const engine::SchedulerMetrics now = entry.model->text->metrics();
  AddTotals(now, *state.engine);
  for (auto moment : kMoments) (*state.engine).*moment = now.*moment;
  return state;
}

bool ModelPool::Shared::IsIdle(const Entry& entry, Clock::time_point now) const {
  if (!entry.model || entry.n_users > 0) return false;
  if (entry.leaving) return true;
  return options.keep_alive.count() > 0 && now >= entry.last_use + options.keep_alive;
}

std::optional<Clock::time_point> ModelPool::Shared::NextEnd() const {
  std::optional<Clock::time_point> next;
  for (const Entry& entry : entries) {
    if (!entry.model || entry.n_users > 0 || options.keep_alive.count() == 0) continue;
    const Clock::time_point end = entry.last_use + options.keep_alive;
    if (!next || end < *next) next = end;
  }
  return next;
}

/// Lets go of the lock meanwhile.
Status ModelPool::Shared::LoadEntry(Entry& entry, std::unique_lock<std::mutex>& lock) {
  entry.wanted = false;
  entry.loading = true;
  entry.load_begin = Clock::now();
  lock.unlock();
  Result<LoadedModel> loaded = [&]() -> Result<LoadedModel> {
    try {
      return entry.named.load();
    } catch (const std::exception& e) {
      return Error{ErrorCode::kResourceExhausted, e.what()};
    }
  }();
  if (!loaded && options.log) {
    options.log(LogLevel::kWarning, entry.named.id + ": " + loaded.error().message);
  }
  lock.lock();
  const Clock::time_point now = Clock::now();
  entry.loading = false;
  entry.last_use = now;
  if (!loaded) {
    entry.failure = WithoutFolders(loaded.error().message);
    entry.pause = std::clamp(2 * entry.pause, options.first_pause, options.longest_pause);
    entry.next_try = now + entry.pause;
    return std::move(loaded).error();
  }
  entry.failure.reset();
  entry.pause = {};
  entry.load_time = now - entry.load_begin;
  entry.max_tokens = loaded->max_tokens();
  entry.model = std::move(loaded).value();
  ++entry.n_loads;
  return Ok();
}

/// Nobody uses it. Lets go of the lock meanwhile.
void ModelPool::Shared::FreeEntry(Entry& entry, std::unique_lock<std::mutex>& lock) {
  std::optional<LoadedModel> gone = std::exchange(entry.model, std::nullopt);
  entry.leaving = false;
  if (gone->text) AddTotals(gone->text->metrics(), entry.ended);
  lock.unlock();
  gone.reset();
  ReturnFreedMemory();
  lock.lock();
}

void ModelPool::Shared::Work() {
  std::unique_lock lock(mutex);
  while (!stopping) {
    const Clock::time_point now = Clock::now();
    const auto idle = std::ranges::find_if(entries, [&](const Entry& e) { return IsIdle(e, now); });
    if (idle != entries.end()) {
      if (options.log) options.log(LogLevel::kInfo, idle->named.id + " is unloaded");
      FreeEntry(*idle, lock);
      continue;
    }
    const auto wanted = std::ranges::find(entries, true, &Entry::wanted);
    if (wanted != entries.end()) {
      (void)LoadEntry(*wanted, lock);  // whose failure is kept
      continue;
    }
    if (const auto next = NextEnd()) {
      changed.wait_until(lock, *next);
    } else {
      changed.wait(lock);
    }
  }
}

void ModelPool::Shared::Stop() {
  {
    const std::scoped_lock lock(mutex);
    stopping = true;
    changed.notify_all();
  }
  if (thread.joinable()) thread.join();
  for (Entry& entry : entries) {
    if (entry.model && entry.model->text) entry.model->text->stop();
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return entry.n_users == 0; });
    if (entry.model) FreeEntry(entry, lock);
  }
}

ModelPool::ModelPool(std::vector<NamedModel> models, ModelPoolOptions options)
    : shared_(std::make_shared<Shared>(std::move(models), std::move(options))) {}

ModelPool::~ModelPool() { Stop(); }

void ModelPool::Stop() { shared_->Stop(); }

Status ModelPool::Start(bool load_all) {
  if (load_all) {
    std::unique_lock lock(shared_->mutex);
    for (Shared::Entry& entry : shared_->entries) {
      LATTICE_TRY_VOID(shared_->LoadEntry(entry, lock));
    }
  }
  shared_->thread = std::thread([shared = shared_.get()] { shared->Work(); });
  return Ok();
}

ApiResult<TextModelPtr> ModelPool::Text(const std::optional<std::string>& name) {
  const std::scoped_lock lock(shared_->mutex);
  Shared::Entry* entry = nullptr;
  if (auto error = shared_->Take(ModelKind::kText, name, entry)) return *std::move(error);
  return shared_->Lend(*entry, entry->model->text);
}

ApiResult<EmbedderPtr> ModelPool::Embedder(const std::optional<std::string>& name) {
  const std::scoped_lock lock(shared_->mutex);
  Shared::Entry* entry = nullptr;
  if (auto error = shared_->Take(ModelKind::kEmbedding, name, entry)) return *std::move(error);
  return shared_->Lend(*entry, entry->model->embedder);
}

ApiResult<EmbedderPtr> ModelPool::Reranker(const std::optional<std::string>& name) {
  const std::scoped_lock lock(shared_->mutex);
  Shared::Entry* entry = nullptr;
  if (auto error = shared_->Take(ModelKind::kReranker, name, entry)) return *std::move(error);
  return shared_->Lend(*entry, entry->model->embedder);
}

bool ModelPool::Has(ModelKind kind) const {
  return std::ranges::any_of(shared_->entries,
                             [&](const Shared::Entry& e) { return e.named.kind == kind; });
}

ModelKind ModelPool::KindOf(const std::optional<std::string>& name) const {
  constexpr ModelKind kOrder[] = {ModelKind::kEmbedding, ModelKind::kReranker, ModelKind::kText};
  const auto* found = std::ranges::find_if(
      kOrder, [&](ModelKind kind) { return shared_->Choose(kind, name) != nullptr; });
  return found == std::end(kOrder) ? ModelKind::kEmbedding : *found;
}

ApiError ModelPool::Unknown() const { return shared_->Unknown(std::nullopt); }

std::vector<ModelState> ModelPool::States() const {
  std::vector<ModelState> states;
  const std::scoped_lock lock(shared_->mutex);
  for (const Shared::Entry& entry : shared_->entries) states.push_back(shared_->StateOf(entry));
  return states;
}

std::optional<ModelState> ModelPool::State(std::string_view name) const {
  const std::scoped_lock lock(shared_->mutex);
  const Shared::Entry* entry = shared_->Find(name);
  if (entry == nullptr) return std::nullopt;
  return shared_->StateOf(*entry);
}

std::optional<ApiError> ModelPool::Load(std::string_view name) {
  const std::scoped_lock lock(shared_->mutex);
  Shared::Entry* entry = shared_->Find(name);
  if (entry == nullptr) return shared_->Unknown(std::nullopt);
  entry->leaving = false;
  entry->last_use = Clock::now();
  if (!entry->model && !entry->loading) {
    entry->wanted = true;
    shared_->changed.notify_all();
  }
  return std::nullopt;
}

std::optional<ApiError> ModelPool::Unload(std::string_view name) {
  const std::scoped_lock lock(shared_->mutex);
  Shared::Entry* entry = shared_->Find(name);
  if (entry == nullptr) return shared_->Unknown(std::nullopt);
  entry->wanted = false;
  entry->leaving = entry->model.has_value() || entry->loading;
  shared_->changed.notify_all();
  return std::nullopt;
}

}  // namespace lattice::server
