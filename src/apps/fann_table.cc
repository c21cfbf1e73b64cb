#include "apps/fann_table.h"

#include <cmath>
#include <cstddef>
#include <utility>

namespace lattice::apps {
namespace {

constexpr float kMostClasses = 65536.0f;

// Cuts each row in two; the second parts are returned.
Result<std::vector<float>> Cut(const vectors::CsvMatrix& table, std::size_t n_targets,
                               ExampleTable& out) {
  if (table.dims <= n_targets) {
    return Error{ErrorCode::kInvalidArgument,
                 "the table has " + std::to_string(table.dims) + " columns, and the last " +
                     std::to_string(n_targets) + " would be what the network should give"};
  }
  out.n_inputs = table.dims - n_targets;
  std::vector<float> targets;
  for (auto at = table.values.begin(); at != table.values.end();) {
    const auto middle = at + static_cast<std::ptrdiff_t>(out.n_inputs);
    const auto end = middle + static_cast<std::ptrdiff_t>(n_targets);
    out.inputs.insert(out.inputs.end(), at, middle);
    targets.insert(targets.end(), middle, end);
    at = end;
  }
  return targets;
}

}  // namespace

Result<ExampleTable> WithClasses(const vectors::CsvMatrix& table) {
  ExampleTable out;
  LATTICE_TRY(const auto classes, Cut(table, 1, out));
  for (std::size_t r = 0; r < classes.size(); ++r) {
    const float value = classes[r];
    if (!(value >= 0 && value < kMostClasses) || value != std::floor(value)) {
      return Error{ErrorCode::kInvalidArgument,
                   "row " + std::to_string(r + 1) +
                       ": the last column must be a class, a whole number from 0 to 65535 "
                       "(--regression for other numbers)"};
    }
    out.labels.push_back(static_cast<std::uint32_t>(value));
  }
  return out;
}

Result<ExampleTable> WithTargets(const vectors::CsvMatrix& table, std::size_t n_targets) {
  ExampleTable out;
  LATTICE_TRY(out.targets, Cut(table, n_targets, out));
  return out;
}

}  // namespace lattice::apps
