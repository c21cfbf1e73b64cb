#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/token_id.h"
#include "kernels/api/backend.h"
#include "models/model.h"

namespace lattice::models {

/// Rows that one step computes, and which keys each of them may see.
struct RowSet {
  std::vector<std::int32_t> positions;        ///< [n] for rotary embedding: place in the text.
  std::vector<std::uint32_t> query_index;     ///< [n] place in the batch's part of the text.
  std::vector<kernels::AttentionSpan> spans;  ///< Texts that have a row here; keys are batch rows.
};

/// Host-side lists of a forward pass. Kept in the Workspace so that their memory is reused.
struct RowPlan {
  RowSet all;                                  ///< Every row of the batch.
  RowSet outputs;                              ///< Only the wanted rows; empty when all are wanted.
  std::span<const std::uint32_t> output_rows;  ///< The wanted rows; empty when all are.

  // Of batches with states.
  std::vector<std::uint32_t> slots;              ///< [n_rows] where each row's keys and values go.
  std::vector<kernels::PagedSpan> paged;         ///< [n_sequences] rows and pages of each text.
  std::vector<kernels::DeltaNetSpan> recurrent;  ///< The same for the delta-net layer at hand.

  std::vector<std::int32_t> position_rows;  ///< [n_rows] rows of a table of learned positions.
  std::vector<std::int32_t> type_rows;      ///< [n_rows] rows of a table of segments.
  std::vector<std::uint32_t> head_rows;     ///< [n_sequences] what a classification head reads.
  std::vector<float> host;                  ///< Scratch for the few sums made outside the backend.

  bool subset() const { return !output_rows.empty(); }
};

/// Fills `all`, `outputs` and `output_rows`. Aborts when the batch breaks its preconditions:
/// sequences that do not cover the rows, ids outside the vocabulary, texts longer than max_tokens
/// with what was read before, states of two stores or without room. With states, `slots` and
/// `paged` too.
void PlanRows(const Batch& batch, const ModelInfo& info, RowPlan& plan);

/// Fills `position_rows` with 0, 1, 2, ... for each text; or, given a padding id, as RoBERTa
/// counts: pad_id + the number of other ids so far, and pad_id itself for a padding id in the text.
void PlanPositionRows(const Batch& batch, std::optional<TokenId> pad_id, RowPlan& plan);

/// Fills `type_rows` from batch.type_ids; all 0 when the table has one row only.
void PlanTypeRows(const Batch& batch, std::size_t n_types, RowPlan& plan);

/// Fills `recurrent` with the states of a delta-net layer.
void PlanDeltaNet(const Batch& batch, std::size_t layer, RowPlan& plan);

/// Counts the batch's rows in its states: all layers have them.
void AdvanceStates(const Batch& batch);

}  // namespace lattice::models
