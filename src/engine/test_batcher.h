#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "engine/batcher.h"
#include "engine/test_engine.h"

namespace lattice::engine {

/// A batcher whose steps a test makes itself.
class TestBatcher {
 public:
  TestBatcher(TestEngine& engine, const SchedulerOptions& options) : engine_(engine) {
    auto memory = SequenceMemory::Make(*engine.model.model, *engine.backend, options);
    if (!memory) TestEngine::Die(memory.error());
    batcher_ = std::make_unique<Batcher>(engine.model, *engine.backend, engine.pool, options,
                                         std::move(memory).value());
  }

  void Add(GenerationRequest request) {
    auto task = Task::Make(engine_.model, std::move(request));
    if (!task) TestEngine::Die(task.error());
    (*task)->number = ++n_;
    batcher_->Add(std::move(task).value());
  }
  void Step() {
    batcher_->Step();
    batcher_->TellEnds();
  }
  void Finish() {
    while (!batcher_->is_idle()) Step();
  }

  Batcher* operator->() { return batcher_.get(); }
  SchedulerMetrics metrics() const { return batcher_->metrics(); }

 private:
  TestEngine& engine_;
  std::unique_ptr<Batcher> batcher_;
  std::uint64_t n_ = 0;
};

}  // namespace lattice::engine
