#include "engine/scheduler.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "engine/batcher.h"
#include "engine/sequence_memory.h"
#include "engine/task.h"

namespace lattice::engine {
namespace {

Status CheckOptions(const SchedulerOptions& options) {
  const std::pair<const char*, std::size_t> numbers[] = {
      {"max_sequences", options.max_sequences},
      {"chunk_beside_answers", options.chunk_beside_answers},
      {"chunk_alone", options.chunk_alone}};
  for (const auto& [name, number] : numbers) {
    if (number > 0) continue;
    return Error{ErrorCode::kInvalidArgument, std::string(name) + " is 0; expected at least 1"};
  }
  return Ok();
}

}  // namespace

struct Scheduler::Impl {
  Impl(const TextModel& text_model, kernels::Backend& backend, ThreadPool& pool,
       const SchedulerOptions& scheduler_options, std::unique_ptr<SequenceMemory> memory)
      : model(text_model),
        options(scheduler_options),
        context_tokens(memory->context_tokens()),
        batcher(text_model, backend, pool, scheduler_options, std::move(memory)) {
    published = batcher.metrics();
  }

  void Run();
  bool TakeRequests();
  void Publish();
  std::optional<Refusal> Closed() const;
  std::uint64_t n_ended() const;
  std::size_t n_open() const;

  const TextModel& model;
  const SchedulerOptions options;
  const std::size_t context_tokens;
  Batcher batcher;  // the thread's alone

  mutable std::mutex mutex;  // guards what follows
  std::condition_variable wake;
  std::condition_variable ended;
  std::vector<std::unique_ptr<Task>> arrived;
  bool takes_no_more = false;
  bool stops = false;
  bool forgets = false;
  std::uint64_t n_accepted = 0;
  std::uint64_t n_refused = 0;
  std::uint64_t n_told = 0;    // ends
  SchedulerMetrics published;  // after the last step

  std::mutex join_mutex;  // guards thread
  std::thread thread;
};

void Scheduler::Impl::Run() {
  while (TakeRequests()) {
    try {
      batcher.Step();
    } catch (const std::exception& error) {
      batcher.FailAll({ErrorCode::kInternal, std::string("while generating: ") + error.what()});
    }
    Publish();
  }
  batcher.EndAll(FinishReason::kCancelled);
  Publish();
  try {
    batcher.SaveKept();
  } catch (const std::exception&) {  // No memory: then nothing outlives this, which may happen.
  }
}

/// Waits for something to do. False: it is to stop.
bool Scheduler::Impl::TakeRequests() {
  std::vector<std::unique_ptr<Task>> tasks;
  bool goes_on = true, clears = false;
  {
    std::unique_lock lock(mutex);
    wake.wait(lock, [&] { return stops || forgets || !arrived.empty() || !batcher.is_idle(); });
    tasks.swap(arrived);
    clears = std::exchange(forgets, false);
    goes_on = !stops;
  }
  for (auto& task : tasks) batcher.Add(std::move(task));
  if (clears) batcher.ClearKept();
  return goes_on;
}

/// Whoever is told of an end finds it in the figures, and its place free.
void Scheduler::Impl::Publish() {
  const SchedulerMetrics now = batcher.metrics();
  {
    const std::lock_guard lock(mutex);
    published = now;
  }
  batcher.TellEnds();
  const std::lock_guard lock(mutex);
  n_told = n_ended();
  ended.notify_all();
}

/// Under the lock.
std::uint64_t Scheduler::Impl::n_ended() const {
  return published.n_finished + published.n_cancelled + published.n_failed;
}

/// Requests accepted that have not ended. Under the lock.
std::size_t Scheduler::Impl::n_open() const { return n_accepted - n_ended(); }

/// Why nobody is taken now. Under the lock.
std::optional<Refusal> Scheduler::Impl::Closed() const {
  if (takes_no_more) {
    return Refusal{Refusal::Reason::kStopping,
                   {ErrorCode::kCancelled, "no more requests are taken: this engine stops"}};
  }
  const std::size_t n = n_open();
  if (n < options.max_sequences || n - options.max_sequences < options.max_waiting) return {};
  return Refusal{Refusal::Reason::kQueueFull,
                 {ErrorCode::kResourceExhausted,
                  std::to_string(options.max_sequences) + " requests are at work and " +
                      std::to_string(n - options.max_sequences) + " wait: the queue is full"}};
}

Scheduler::Scheduler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Scheduler::~Scheduler() { Stop(); }

Result<std::unique_ptr<Scheduler>> Scheduler::Start(const TextModel& model,
                                                    kernels::Backend& backend, ThreadPool& pool,
                                                    const SchedulerOptions& options) {
  LATTICE_TRY_VOID(CheckOptions(options));
  LATTICE_TRY(auto memory, SequenceMemory::Make(*model.model, backend, options));
  auto impl = std::make_unique<Impl>(model, backend, pool, options, std::move(memory));
  Impl& started = *impl;
  started.thread = std::thread([&started] { started.Run(); });
  return std::unique_ptr<Scheduler>(new Scheduler(std::move(impl)));
}

std::optional<Refusal> Scheduler::Submit(GenerationRequest request) {
  const auto refuse = [&](Refusal refusal) {  // under the lock
    ++impl_->n_refused;
    return refusal;
  };
  const std::size_t n_prompt = request.prompt.size();
  if (n_prompt > impl_->context_tokens) {
    const std::lock_guard lock(impl_->mutex);
    return refuse({Refusal::Reason::kTooLong,
                   {ErrorCode::kInvalidArgument, "the prompt has " + std::to_string(n_prompt) +
                                                     " tokens, the context holds " +
                                                     std::to_string(impl_->context_tokens)}});
  }
  {
    const std::lock_guard lock(impl_->mutex);  // first, for it costs nothing
    if (auto closed = impl_->Closed()) return refuse(std::move(*closed));
  }
  auto task = Task::Make(impl_->model, std::move(request));
  const std::lock_guard lock(impl_->mutex);
  if (!task) return refuse({Refusal::Reason::kInvalid, std::move(task).error()});
  if (auto closed = impl_->Closed()) return refuse(std::move(*closed));
  (*task)->number = ++impl_->n_accepted;
  impl_->arrived.push_back(std::move(task).value());
  impl_->wake.notify_one();
  return std::nullopt;
}

std::size_t Scheduler::context_tokens() const { return impl_->context_tokens; }

bool Scheduler::Drain(std::chrono::steady_clock::time_point until) {
  std::unique_lock lock(impl_->mutex);
  impl_->takes_no_more = true;
  return impl_->ended.wait_until(lock, until, [&] { return impl_->n_told == impl_->n_accepted; });
}

void Scheduler::Stop() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->takes_no_more = impl_->stops = true;
    impl_->wake.notify_one();
  }
  const std::lock_guard lock(impl_->join_mutex);
  if (impl_->thread.joinable()) impl_->thread.join();
}

SchedulerMetrics Scheduler::metrics() const {
  const std::lock_guard lock(impl_->mutex);
  SchedulerMetrics now = impl_->published;
  now.n_accepted = impl_->n_accepted;
  now.n_refused = impl_->n_refused;
  now.n_waiting = impl_->n_open() - now.n_reading - now.n_answering;
  return now;
}

void Scheduler::ClearCache() {
  const std::lock_guard lock(impl_->mutex);
  impl_->forgets = true;
  impl_->wake.notify_one();
}

}  // namespace lattice::engine
