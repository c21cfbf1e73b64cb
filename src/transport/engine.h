#pragma once

#include <memory>

#include "transport/sinkhorn.h"

namespace lattice::transport {

/// An Engine with a pool of its own, for one call through the public door.
class OwnedEngine {
 public:
  /// kInvalidArgument, kUnsupported: the instruction set; more than 1,024 threads.
  static Result<std::unique_ptr<OwnedEngine>> Make(const Machine& machine);
  const Engine& operator*() const { return engine_; }

 private:
  OwnedEngine(const Kernels& kernels, std::size_t n_threads, const Machine& machine)
      : pool_(n_threads), engine_{kernels, pool_, machine.matrix_budget_bytes, machine.stop} {}
  ThreadPool pool_;
  Engine engine_;
};

/// The rows of `cost` on this engine.
inline Result<CostRows> RowsOf(const Engine& engine, const Cost& cost) {
  return CostRows::Make(cost, engine.kernels, engine.pool, engine.matrix_budget_bytes);
}

/// The divergence of two sets, whatever of it is known already. `source_self` and `target_self` may
/// be null: then they are solved. `start`: potentials of the target, or empty.
Result<Divergence> DivergenceOn(const Engine& engine, const Points& source, const Points& target,
                                Ground ground, const SinkhornOptions& options,
                                const SelfTransport* source_self, std::span<const double> start);

}  // namespace lattice::transport
