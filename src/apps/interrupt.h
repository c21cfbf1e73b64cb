#pragma once

#include <memory>
#include <stop_token>

namespace lattice::apps {

/// Turns the first SIGINT or SIGTERM into a stop request and the second into the end of the
/// process. To be made before any other thread, so that all of them leave the signals to it.
class InterruptWatcher {
 public:
  InterruptWatcher();
  ~InterruptWatcher();
  std::stop_token token() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lattice::apps
