#include "server/http/pending_answer.h"

#include <utility>

#include "server/http/api_error.h"

namespace lattice::server {

PendingAnswer::PendingAnswer(HttpRequest request, std::string id, const Limits& limits,
                             std::function<void()> wake)
    : request_(std::move(request)), id_(std::move(id)), limits_(limits), wake_(std::move(wake)) {}

void PendingAnswer::Wake(const std::scoped_lock<std::mutex>&) {
  if (woken_ || left_) return;
  woken_ = true;
  wake_();
}

void PendingAnswer::Reply(HttpResponse response) {
  const std::scoped_lock lock(mutex_);
  LATTICE_CHECK(!answered_);
  answered_ = ended_ = true;
  head_ = std::move(response);
  Wake(lock);
}

void PendingAnswer::BeginStream(HttpResponse head, std::string idle_piece) {
  const std::scoped_lock lock(mutex_);
  LATTICE_CHECK(!answered_);
  answered_ = streams_ = true;
  head_ = std::move(head);
  idle_piece_ = std::move(idle_piece);
  Wake(lock);
}

bool PendingAnswer::Write(std::string_view piece) {
  const std::scoped_lock lock(mutex_);
  LATTICE_CHECK(streams_ && !ended_);
  if (left_ || cut_off_) return false;
  cut_off_ = pieces_.size() + piece.size() > limits_.waiting_bytes;
  if (!cut_off_) pieces_ += piece;
  Wake(lock);
  return !cut_off_;
}

void PendingAnswer::EndStream() {
  const std::scoped_lock lock(mutex_);
  LATTICE_CHECK(streams_ && !ended_);
  ended_ = true;
  Wake(lock);
}

void PendingAnswer::Abandon() {
  const std::scoped_lock lock(mutex_);
  if (ended_) return;
  if (streams_) {
    cut_off_ = true;
  } else {
    answered_ = ended_ = true;
    head_ = ErrorResponse({.status = 500, .message = "the request was dropped"});
  }
  Wake(lock);
}

void PendingAnswer::SetRoute(const char* route) {
  const std::scoped_lock lock(mutex_);
  route_ = route;
}

PendingAnswer::Taken PendingAnswer::Take() {
  const std::scoped_lock lock(mutex_);
  woken_ = false;
  Taken taken;
  taken.head = std::exchange(head_, std::nullopt);
  taken.pieces = std::exchange(pieces_, {});
  taken.streams = streams_;
  taken.ended = ended_;
  taken.cut_off = cut_off_;
  return taken;
}

std::string PendingAnswer::idle_piece() const {
  const std::scoped_lock lock(mutex_);
  return idle_piece_;
}

const char* PendingAnswer::route() const {
  const std::scoped_lock lock(mutex_);
  return route_;
}

void PendingAnswer::Leave() {
  {
    const std::scoped_lock lock(mutex_);
    left_ = true;
    wake_ = nullptr;
  }
  gone_.request_stop();  // Outside of the lock: its callbacks are others' code.
}

}  // namespace lattice::server
