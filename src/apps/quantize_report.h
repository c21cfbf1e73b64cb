#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "weights/quantise_plan.h"

namespace lattice::apps {

/// What `lattice quantize` is about to write, or has written.
struct QuantizeReport {
  std::filesystem::path source, destination;
  std::string_view type;  ///< As asked for: "q4_k".
  const weights::GgufPlan* plan = nullptr;
  const weights::QuantiseNotes* notes = nullptr;
  std::optional<double> seconds;  ///< Absent: nothing was written.

  std::size_t source_bytes() const;
};

/// A line a tensor: name, shape, old and new type and size; then the totals.
std::string TensorTable(const QuantizeReport& report);
/// How many tensors became what, the totals, the time.
std::string SummaryText(const QuantizeReport& report);
std::string QuantizeJson(const QuantizeReport& report);

}  // namespace lattice::apps
