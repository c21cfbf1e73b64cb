#include "engine/batcher.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "lattice/check.h"

namespace lattice::engine {
namespace {

// Of one text in a step; what comes after them is drawn, from the same single token.
constexpr std::size_t kMaxForced = 64;

}  // namespace

Batcher::Batcher(const TextModel& model, kernels::Backend& backend, ThreadPool& pool,
                 const SchedulerOptions& options, std::unique_ptr<SequenceMemory> memory)
    : model_(model),
      backend_(backend),
      pool_(pool),
      options_(options),
      memory_(std::move(memory)),
      turns_(options.chunk_beside_answers, options.chunk_alone),
      workspace_(backend) {}

void Batcher::Add(std::unique_ptr<Task> task) {
  if (memory_->keeps_texts()) {
    task->places = PlacesToKeep(task->n_prompt, memory_->is_recurrent(),
                                std::move(task->request.boundaries), options_.checkpoint_tokens);
  }
  waiting_.push_back(std::move(task));
  ended_.reserve(waiting_.size() + running_.size());
}

void Batcher::Step() {
  EndOverdue();
  Admit();
  if (running_.empty()) return;
  turns_.Deal(running_, *memory_);
  ReserveRows();
  CollectRows();
  if (read_.empty()) return;  // those whose turn it was gave up their memory
  Read();
  TellPrompts();
  Draw();
  DropEnded();
}

void Batcher::EndOverdue() {
  const auto now = std::chrono::steady_clock::now();
  const auto look = [&](const std::unique_ptr<Task>& task) {
    const GenerationRequest& request = task->request;
    if (request.options.stop.stop_requested()) {
      End(*task, FinishReason::kCancelled);
    } else if (request.deadline && *request.deadline <= now) {
      End(*task, FinishReason::kDeadline);
    }
  };
  std::ranges::for_each(running_, look);
  std::ranges::for_each(waiting_, look);
  DropEnded();
}

void Batcher::Admit() {
  while (running_.size() < options_.max_sequences && !waiting_.empty()) {
    Task& task = *waiting_.front();
    if (blocked_ == task.number) return;
    if (!Start(task)) {
      LATTICE_CHECK(!running_.empty());  // one text alone always fits
      blocked_ = task.number;
      return;
    }
    running_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

/// Room for what there is to read and for one token; the texts at work then have a page each to go
/// on in.
bool Batcher::HasRoom(const models::Sequence& sequence, std::size_t n_tokens) const {
  if (running_.empty()) return true;  // the longest text fits
  std::vector<bool> used(memory_->n_pages());
  const auto mark = [&](const models::Sequence& s) {
    for (const std::uint32_t page : s.pages()) used[page] = true;
  };
  mark(sequence);
  for (const auto& task : running_) mark(*task->sequence);
  const auto n_used = static_cast<std::size_t>(std::ranges::count(used, true));
  const std::size_t n_pages = (n_tokens + kernels::kPageTokens - 1) / kernels::kPageTokens;
  const std::size_t needed = n_pages - std::min(n_pages, sequence.pages().size());
  return n_used + needed + running_.size() + 1 <= memory_->n_pages();
}

bool Batcher::Start(Task& task) {
  auto sequence = task.n_to_tell() > 0 ? memory_->BeginEmpty() : memory_->Begin(task.ids);
  const std::size_t n_tokens = std::min(task.ids.size() + 1, memory_->context_tokens());
  if (!HasRoom(*sequence, n_tokens)) return false;
  if (!memory_->Reserve(*sequence, n_tokens - sequence->n_tokens())) return false;
  task.sequence = std::move(sequence);
  task.answer->StartWork();
  return true;
}

/// Makes room for the rows that were dealt, for the oldest first.
void Batcher::ReserveRows() {
  for (std::size_t i = 0; i < running_.size(); ++i) {
    Task& task = *running_[i];
    while (i < running_.size() && !memory_->Reserve(*task.sequence, task.n_rows)) {
      LATTICE_CHECK(running_.size() > 1);
      PutOffYoungest();
    }
  }
}

/// Its tokens stand; they are read again when there is room.
void Batcher::PutOffYoungest() {
  Task& task = *running_.back();
  task.sequence = nullptr;
  task.n_rows = 0;
  if (!task.is_answering) task.n_prompt_rows = 0;
  blocked_.reset();
  ++totals_.n_put_off;
  waiting_.push_front(std::move(running_.back()));
  running_.pop_back();
}

void Batcher::CollectRows() {
  read_.clear();
  drawing_.clear();
  telling_.clear();
  ids_.clear();
  rows_.clear();
  sequences_.clear();
  outputs_.clear();
  for (const auto& task : running_) {
    if (task->n_rows == 0) continue;
    const auto ids = std::span(task->ids).subspan(task->n_read(), task->n_rows);
    const auto begin = static_cast<std::uint32_t>(ids_.size());
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    rows_.push_back({begin, static_cast<std::uint32_t>(ids_.size())});
    sequences_.push_back(task->sequence.get());
    read_.push_back(task.get());
    if (task->n_to_tell() > 0) {
      telling_.push_back({task.get(), outputs_.size()});
      for (std::uint32_t row = begin; row + 1 < rows_.back().end; ++row) outputs_.push_back(row);
    }
    const bool draws = task->n_rows == task->n_left();
    if (!draws && task->n_to_tell() == 0) continue;
    outputs_.push_back(rows_.back().end - 1);
    if (draws) drawing_.push_back({task.get(), outputs_.size() - 1});
  }
}

/// One pass over the rows. The logits of outputs_ are in logits_ then.
void Batcher::Read() {
  if (outputs_.empty()) outputs_.push_back(rows_.back().end - 1);  // none would mean all
  const models::Batch batch{ids_, {}, rows_, outputs_, sequences_};
  const kernels::Buffer& hidden = model_.model->Forward(batch, workspace_);
  ++totals_.n_steps;
  for (Task* task : read_) Note(*task);
  if (drawing_.empty() && telling_.empty()) return;
  const kernels::Buffer& logits = model_.model->Logits(hidden, {}, workspace_);
  logits_.resize(logits.rows() * logits.cols());
  backend_.Read(logits, logits_);
}

std::span<const float> Batcher::LogitsOf(std::size_t output) const {
  const std::size_t width = logits_.size() / outputs_.size();
  return std::span(logits_).subspan(output * width, width);
}

void Batcher::TellPrompts() {
  for (const auto& [task, first_output] : telling_) {
    Status told = TellPrompt(*task, first_output);
    if (told) continue;
    std::erase_if(drawing_, [&](const Output& output) { return output.task == task; });
    Close(*task, std::move(told).error());
  }
}

/// Each row that was read says something about the token after it, if the prompt has one. After its
/// memory was given up a prompt is read again, and what was told is not told again.
Status Batcher::TellPrompt(Task& task, std::size_t first_output) {
  const std::size_t n_before = task.n_read() - task.n_rows;
  for (std::size_t i = 0; i < task.n_rows; ++i) {
    const std::size_t at = n_before + i + 1;
    if (at <= task.n_told || at >= task.n_prompt) continue;
    decoding::LogProbabilities said;
    LATTICE_TRY_VOID(
        log_probabilities_.Read(LogitsOf(first_output + i).first(model_.n_tokens()), task.ids[at],
                                task.request.options.n_top_log_probabilities.value_or(0), said));
    task.n_told = at;
    task.request.on_prompt_token(said);
  }
  return Ok();
}

/// The task's rows have been read.
void Batcher::Note(Task& task) {
  if (!task.is_answering) task.n_prompt_rows += task.n_rows;
  if (task.IsAtPlace()) {
    memory_->KeepCopy(std::span(task.ids).first(task.n_read()), *task.sequence);
  }
}

void Batcher::Draw() {
  if (drawing_.empty()) return;
  drawn_.assign(drawing_.size(), Ok());
  for (const Output& output : drawing_) {
    Task& task = *output.task;
    if (!task.is_answering) task.answer->SetCached(task.n_prompt - task.n_prompt_rows);
  }
  const auto draw = [&](std::size_t i) {
    drawn_[i] = drawing_[i].task->answer->Next(LogitsOf(drawing_[i].index));
  };
  if (drawing_.size() == 1) {
    draw(0);
  } else {
    pool_.ParallelEach(drawing_.size(), draw);
  }
  for (std::size_t i = 0; i < drawing_.size(); ++i) Go(*drawing_[i].task, drawn_[i]);
}

/// A token has been drawn, or could not be: shows it and goes on.
void Batcher::Go(Task& task, const Status& drawn) {
  if (!drawn) return Close(task, drawn.error());
  const GenerationUsage& usage = task.answer->usage();
  if (!std::exchange(task.is_answering, true)) {
    totals_.prompt_tokens += usage.n_prompt;
    totals_.cached_tokens += usage.n_cached;
    totals_.n_cache_hits += usage.n_cached > 0 ? 1 : 0;
  }
  task.n_forced = 0;
  while (Extend(task) && task.n_forced < kMaxForced) {
    const Result<bool> is_forced = task.answer->NextForced();
    if (!is_forced) return Close(task, is_forced.error());
    if (!*is_forced) return;
    ++task.n_forced;
    ++totals_.forced_tokens;
  }
}

/// Shows a token that has come. Whether the answer goes on after it.
bool Batcher::Extend(Task& task) {
  ++totals_.generated_tokens;
  if (Status shown = Show(task); !shown) {
    Close(task, std::move(shown).error());
  } else if (task.answer->finish()) {
    Close(task, std::nullopt);
  } else if (task.ids.size() == memory_->context_tokens()) {
    End(task, FinishReason::kContext);
  } else {
    task.ids.push_back(task.answer->last());
    return true;
  }
  return false;
}

Status Batcher::Show(Task& task) {
  return task.answer->Show([&](const GeneratedToken& token) {
    if (task.request.on_token) task.request.on_token(token);
    return Ok();
  });
}

void Batcher::End(Task& task, FinishReason reason) {
  Status ended = task.answer->End(reason);
  if (ended) ended = Show(task);
  if (!ended) return Close(task, std::move(ended).error());
  Close(task, std::nullopt);
}

void Batcher::Close(Task& task, std::optional<Error> error) {
  task.has_ended = true;
  blocked_.reset();
  if (task.sequence != nullptr && !error) {
    const std::size_t n_read = task.n_read();
    memory_->Keep(std::span(task.ids).first(n_read), std::move(task.sequence));
  }
  task.sequence = nullptr;
  const bool cancelled = task.answer->finish() == FinishReason::kCancelled ||
                         task.answer->finish() == FinishReason::kDeadline;
  ++(error ? totals_.n_failed : cancelled ? totals_.n_cancelled : totals_.n_finished);
  task.error = std::move(error);
}

void Batcher::DropEnded() {
  const auto ended = [this](std::unique_ptr<Task>& task) {
    if (!task->has_ended) return false;
    ended_.push_back(std::move(task));
    return true;
  };
  std::erase_if(running_, ended);
  std::erase_if(waiting_, ended);
}

void Batcher::TellEnds() {
  for (const auto& task : ended_) {
    GenerationEnd end;
    end.finish = task->answer->finish().value_or(FinishReason::kCancelled);
    end.usage = task->answer->usage();
    end.stop_string = task->answer->stop_string();
    end.error = std::move(task->error);
    if (task->request.on_end) task->request.on_end(end);
  }
  ended_.clear();
}

void Batcher::EndAll(FinishReason reason) {
  for (const auto& task : running_) End(*task, reason);
  for (const auto& task : waiting_) End(*task, reason);
  DropEnded();
}

void Batcher::FailAll(const Error& error) {
  const auto fail = [&](const std::unique_ptr<Task>& task) {
    if (!task->has_ended) Close(*task, error);
  };
  std::ranges::for_each(running_, fail);
  std::ranges::for_each(waiting_, fail);
  DropEnded();
}

SchedulerMetrics Batcher::metrics() const {
  SchedulerMetrics now = totals_;
  now.n_waiting = waiting_.size();
  now.n_answering = static_cast<std::size_t>(
      std::ranges::count_if(running_, [](const auto& task) { return task->is_answering; }));
  now.n_reading = running_.size() - now.n_answering;
  now.memory_bytes = memory_->max_bytes();
  now.used_bytes = memory_->used_bytes(running_.size());
  now.cached_bytes = memory_->kept_bytes();
  now.n_cached_texts = memory_->n_kept();
  return now;
}

}  // namespace lattice::engine
