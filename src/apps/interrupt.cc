#include "apps/interrupt.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <mutex>
#include <optional>
#include <thread>

namespace lattice::apps {
namespace {

constexpr int kInterruptedStatus = 130;  // what shells expect of a program ended by Ctrl-C

sigset_t Watched() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

struct InterruptWatcher::State {
  std::stop_source work;
  std::mutex mutex;
  std::optional<std::stop_source> part;  // of the Scope, under mutex
  std::jthread thread;

  void Interrupt(int signal) {
    const std::lock_guard lock(mutex);
    if (signal == SIGINT && part && part->request_stop()) return;
    if (!work.request_stop()) _exit(kInterruptedStatus);
  }

  void Watch(const std::stop_token& stop) {
    const sigset_t set = Watched();
    const timespec wait{0, 100'000'000};
    while (!stop.stop_requested()) {
      const int signal = sigtimedwait(&set, nullptr, &wait);
      if (signal > 0 && !stop.stop_requested()) Interrupt(signal);
    }
  }
};

InterruptWatcher::InterruptWatcher() : state_(std::make_unique<State>()) {
  const sigset_t set = Watched();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  State* const state = state_.get();  // joins the thread before it goes
  state_->thread = std::jthread([state](const std::stop_token& stop) { state->Watch(stop); });
}

// A signal to the thread alone wakes it: no command ends later because of its wait.
InterruptWatcher::~InterruptWatcher() {
  state_->thread.request_stop();
  pthread_kill(state_->thread.native_handle(), SIGTERM);
}

std::stop_token InterruptWatcher::token() const { return state_->work.get_token(); }

InterruptWatcher::Scope::Scope(InterruptWatcher& watcher) : watcher_(watcher) {
  const std::lock_guard lock(watcher_.state_->mutex);
  watcher_.state_->part = source_;
}

InterruptWatcher::Scope::~Scope() {
  const std::lock_guard lock(watcher_.state_->mutex);
  watcher_.state_->part.reset();
}

}  // namespace lattice::apps
