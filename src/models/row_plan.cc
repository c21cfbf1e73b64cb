#include "models/row_plan.h"

#include "lattice/check.h"

namespace lattice::models {
namespace {

/// Tokens that were read before text i's rows.
std::size_t ReadBefore(const Batch& batch, std::size_t i) {
  return batch.states.empty() ? 0 : batch.states[i]->n_tokens();
}

void CheckBatch(const Batch& batch, const ModelInfo& info) {
  LATTICE_CHECK(!info.needs_state || !batch.states.empty());
  LATTICE_CHECK(batch.states.empty() || batch.states.size() == batch.sequences.size());
  std::size_t row = 0, i = 0;
  for (const SequenceRows& text : batch.sequences) {
    LATTICE_CHECK(text.begin == row && text.end > text.begin);
    const std::size_t n = text.end - text.begin;
    LATTICE_CHECK(ReadBefore(batch, i) + n <= info.max_tokens);
    LATTICE_CHECK(batch.states.empty() || (batch.states[i]->HasRoom(n) &&
                                           batch.states[i]->SharesStoreWith(*batch.states[0])));
    row = text.end;
    ++i;
  }
  LATTICE_CHECK(row == batch.ids.size());
  for (const TokenId id : batch.ids) {
    LATTICE_CHECK(id >= 0 && static_cast<std::size_t>(id) < info.vocab);
  }
}

void Append(const SequenceRows& text, std::size_t read_before, std::uint32_t row, RowSet& set) {
  set.positions.push_back(static_cast<std::int32_t>(read_before + row - text.begin));
  set.query_index.push_back(row - text.begin);
}

void PlanPages(const SequenceRows& text, const Sequence& state, RowPlan& plan) {
  const std::size_t first = state.n_tokens();
  for (std::size_t position = first; position < first + text.end - text.begin; ++position) {
    const std::uint32_t page = state.pages()[position / kernels::kPageTokens];
    plan.slots.push_back(
        static_cast<std::uint32_t>(page * kernels::kPageTokens + position % kernels::kPageTokens));
  }
  plan.paged.push_back({text.begin, text.end, static_cast<std::uint32_t>(first), state.pages()});
}

void Clear(RowSet& set) {
  set.positions.clear();
  set.query_index.clear();
  set.spans.clear();
}

void PlanOutputs(const Batch& batch, RowPlan& plan) {
  const auto rows = batch.output_rows;
  std::uint32_t i = 0;
  std::size_t t = 0;
  for (const SequenceRows& text : batch.sequences) {
    const std::size_t read_before = ReadBefore(batch, t++);
    const std::uint32_t first = i;
    for (; i < rows.size() && rows[i] < text.end; ++i) {
      LATTICE_CHECK(i == 0 || rows[i] > rows[i - 1]);
      Append(text, read_before, rows[i], plan.outputs);
    }
    if (i > first) plan.outputs.spans.push_back({first, i, text.begin, text.end});
  }
  LATTICE_CHECK(i == rows.size());
}

}  // namespace

void PlanRows(const Batch& batch, const ModelInfo& info, RowPlan& plan) {
  CheckBatch(batch, info);
  Clear(plan.all);
  Clear(plan.outputs);
  plan.slots.clear();
  plan.paged.clear();
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
    const SequenceRows& text = batch.sequences[i];
    const std::size_t read_before = ReadBefore(batch, i);
    for (std::uint32_t row = text.begin; row < text.end; ++row) {
      Append(text, read_before, row, plan.all);
    }
    plan.all.spans.push_back({text.begin, text.end, text.begin, text.end});
    if (!batch.states.empty()) PlanPages(text, *batch.states[i], plan);
  }
  const bool subset = batch.output_rows.size() < batch.ids.size();
  plan.output_rows = subset ? batch.output_rows : std::span<const std::uint32_t>();
  PlanOutputs(batch, plan);
}

void PlanPositionRows(const Batch& batch, std::optional<TokenId> pad_id, RowPlan& plan) {
  plan.position_rows.clear();
  for (const SequenceRows& text : batch.sequences) {
    std::int32_t next = pad_id ? *pad_id + 1 : 0;
    for (std::uint32_t row = text.begin; row < text.end; ++row) {
      const bool padding = pad_id && batch.ids[row] == *pad_id;
      plan.position_rows.push_back(padding ? *pad_id : next++);
    }
  }
}

void PlanTypeRows(const Batch& batch, std::size_t n_types, RowPlan& plan) {
  plan.type_rows.assign(batch.ids.size(), 0);
  if (n_types < 2 || batch.type_ids.empty()) return;
  LATTICE_CHECK(batch.type_ids.size() == batch.ids.size());
  for (std::size_t i = 0; i < batch.ids.size(); ++i) {
    LATTICE_CHECK(batch.type_ids[i] < n_types);
    plan.type_rows[i] = batch.type_ids[i];
  }
}

void PlanDeltaNet(const Batch& batch, std::size_t layer, RowPlan& plan) {
  plan.recurrent.clear();
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
    const auto [begin, end] = batch.sequences[i];
    plan.recurrent.push_back({begin, end, &batch.states[i]->delta_net(layer)});
  }
}

void AdvanceStates(const Batch& batch) {
  for (std::size_t i = 0; i < batch.states.size(); ++i) {
    batch.states[i]->Advance(batch.sequences[i].end - batch.sequences[i].begin);
  }
}

}  // namespace lattice::models
