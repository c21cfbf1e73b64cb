#include "models/row_plan.h"

#include "lattice/check.h"

namespace lattice::models {
namespace {

void CheckBatch(const Batch& batch, const ModelInfo& info) {
  std::size_t row = 0;
  for (const SequenceRows& text : batch.sequences) {
    LATTICE_CHECK(text.begin == row && text.end > text.begin);
    LATTICE_CHECK(text.end - text.begin <= info.max_tokens);
    row = text.end;
  }
  LATTICE_CHECK(row == batch.ids.size());
  for (const TokenId id : batch.ids) {
    LATTICE_CHECK(id >= 0 && static_cast<std::size_t>(id) < info.vocab);
  }
}

void Append(const SequenceRows& text, std::uint32_t row, RowSet& set) {
  set.positions.push_back(static_cast<std::int32_t>(row - text.begin));
  set.query_index.push_back(row - text.begin);
}

void Clear(RowSet& set) {
  set.positions.clear();
  set.query_index.clear();
  set.spans.clear();
}

void PlanOutputs(const Batch& batch, RowPlan& plan) {
  const auto rows = batch.output_rows;
  std::uint32_t i = 0;
  for (const SequenceRows& text : batch.sequences) {
    const std::uint32_t first = i;
    for (; i < rows.size() && rows[i] < text.end; ++i) {
      LATTICE_CHECK(i == 0 || rows[i] > rows[i - 1]);
      Append(text, rows[i], plan.outputs);
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
  for (const SequenceRows& text : batch.sequences) {
    for (std::uint32_t row = text.begin; row < text.end; ++row) Append(text, row, plan.all);
    plan.all.spans.push_back({text.begin, text.end, text.begin, text.end});
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

}  // namespace lattice::models
