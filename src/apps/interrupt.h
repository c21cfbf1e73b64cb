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

  /// A part of the work that a SIGINT ends by itself: while one exists, its token gets the first
  /// signal and the program goes on. One at a time.
  class Scope {
   public:
    explicit Scope(InterruptWatcher& watcher);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    std::stop_token token() const { return source_.get_token(); }

   private:
    InterruptWatcher& watcher_;
    std::stop_source source_;
  };

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lattice::apps
