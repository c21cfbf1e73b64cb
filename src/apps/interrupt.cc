#include "apps/interrupt.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

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

void Watch(const std::stop_token& watcher_stop, const std::stop_source& work) {
  const sigset_t set = Watched();
  const timespec wait{0, 100'000'000};
  while (!watcher_stop.stop_requested()) {
    if (sigtimedwait(&set, nullptr, &wait) < 0) continue;
    if (work.stop_requested()) _exit(kInterruptedStatus);
    work.request_stop();
  }
}

}  // namespace

struct InterruptWatcher::State {
  std::stop_source work;
  std::jthread thread;
};

InterruptWatcher::InterruptWatcher() : state_(std::make_unique<State>()) {
  const sigset_t set = Watched();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  state_->thread =
      std::jthread([work = state_->work](const std::stop_token& stop) { Watch(stop, work); });
}

InterruptWatcher::~InterruptWatcher() = default;

std::stop_token InterruptWatcher::token() const { return state_->work.get_token(); }

}  // namespace lattice::apps
