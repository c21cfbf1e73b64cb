#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fann/batch_pass.h"
#include "fann/loss.h"
#include "fann/update.h"
#include "lattice/fann_training.h"

namespace lattice::fann {

/// What training changes beside the network and the optimiser's memories: all that a checkpoint
/// must hold.
struct Progress {
  std::uint64_t epoch = 0;  ///< Finished ones.
  std::uint64_t next = 0;   ///< The row of the present epoch's order that comes next.
  std::uint64_t step = 0;   ///< Batches so far, for the schedule.
  std::uint64_t n_sanitised = 0, n_skipped = 0;
  LossSums sums;  ///< Of the present epoch.
  std::uint64_t best_epoch = 0, n_worse = 0;
  double best = 0;
  std::vector<EpochReport> epochs;
  std::vector<float> best_parameters;  ///< As NetworkData::parameters; empty: not kept.
};

struct Trainer::State {
  State(Network& net, const Examples& data, TrainOptions wanted, const Examples& held,
        const Kernels& found);

  void PrepareEpoch();
  Status TrainBatch();
  Result<bool> FinishEpoch();  ///< Whether training goes on.
  bool IsDone() const;
  EndReason Reason() const;
  TrainReport Finish();
  LossSums Validate();
  std::span<const std::uint32_t> ValidationRows() const { return held_rows; }
  bool Watches() const { return options.early_stopping.patience > 0; }
  std::uint64_t StepsPerEpoch() const;
  std::string Fingerprint() const;
  const float* Gather(std::span<const std::uint32_t> rows);

  Network& network;
  Examples examples, validation;  ///< Validation rows come from `validation`, see held_rows.
  TrainOptions options;
  Kernels kernels;
  Workers workers;
  LossSetting setting;
  BatchPass pass;
  std::vector<Segment> segments;
  Updater updater;
  AlignedBuffer gradient, rows;
  std::size_t rows_stride = 0;
  std::vector<std::uint32_t> train_rows, held_rows;  ///< Fixed.
  std::vector<std::uint32_t> order;                  ///< Of the present epoch.
  std::uint64_t order_epoch = UINT64_MAX;            ///< The epoch that `order` is of.
  Progress progress;
  bool was_ended = false;  ///< By the callback.
};

}  // namespace lattice::fann
