#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lattice/fann_training.h"
#include "vectors/csv.h"

namespace lattice::apps {

/// Rows of inputs and what a network should give for them.
struct ExampleTable {
  std::size_t n_inputs = 0;
  std::vector<float> inputs, targets;  ///< [n, n_inputs]; [n, n_targets] or empty.
  std::vector<std::uint32_t> labels;   ///< [n] or empty.
  fann::Examples View() const { return {inputs, targets, labels}; }
};

/// Takes the last column as a class, 0 to 65535; kInvalidArgument names the row.
Result<ExampleTable> WithClasses(const vectors::CsvMatrix& table);
/// Takes the last columns as numbers; at least one column must be left.
Result<ExampleTable> WithTargets(const vectors::CsvMatrix& table, std::size_t n_targets);

}  // namespace lattice::apps
