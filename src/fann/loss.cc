#include "fann/loss.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace lattice::fann {
namespace {

Error Bad(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

// What one row should give: a label or a row of targets.
struct Goal {
  const float* targets;  // Null: the label.
  std::uint32_t label;
  float At(std::size_t j) const {
    return targets != nullptr ? targets[j] : (j == label ? 1.0f : 0.0f);
  }
  std::size_t Best(std::size_t n) const {
    if (targets == nullptr) return label;
    return static_cast<std::size_t>(std::max_element(targets, targets + n) - targets);
  }
};

Goal GoalOf(const Examples& examples, std::size_t row, std::size_t n) {
  if (!examples.labels.empty()) return {nullptr, examples.labels[row]};
  return {examples.targets.data() + row * n, 0};
}

// ln(1 + e^x)
double Softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

struct RowPlace {
  const float* sums;
  const float* outputs;
  float* delta;  // Null: not asked for. Not divided by the batch's weight yet.
  std::size_t n;
};

float WeightOf(const LossSetting& setting, std::size_t j) {
  return setting.class_weights.empty() ? 1.0f : setting.class_weights[j];
}

LossSums CrossEntropy(const LossSetting& setting, const RowPlace& row, const Goal& goal) {
  LossSums sums;
  double max = row.sums[0], total = 0;
  std::size_t best = 0;
  for (std::size_t j = 1; j < row.n; ++j) {
    if (row.sums[j] > row.sums[best]) best = j;
  }
  max = row.sums[best];
  for (std::size_t j = 0; j < row.n; ++j) total += std::exp(row.sums[j] - max);
  const double log_total = max + std::log(total);
  for (std::size_t j = 0; j < row.n; ++j) {
    const double share = static_cast<double>(WeightOf(setting, j)) * goal.At(j);
    if (share == 0) continue;
    sums.loss += share * (log_total - row.sums[j]);
    sums.weight += share;
  }
  if (row.delta != nullptr) {
    for (std::size_t j = 0; j < row.n; ++j) {
      const double p = std::exp(row.sums[j] - max) / total;
      const double share = static_cast<double>(WeightOf(setting, j)) * goal.At(j);
      row.delta[j] = static_cast<float>(p * sums.weight - share);
    }
  }
  sums.right = best == goal.Best(row.n) ? 1 : 0;
  sums.judged = 1;
  return sums;
}

LossSums BinaryCrossEntropy(const LossSetting& setting, const RowPlace& row, const Goal& goal) {
  LossSums sums{.weight = 1, .judged = static_cast<double>(row.n)};
  const double per = 1.0 / static_cast<double>(row.n);
  for (std::size_t j = 0; j < row.n; ++j) {
    const double z = row.sums[j], t = goal.At(j), w = WeightOf(setting, j);
    sums.loss += per * (w * t * Softplus(-z) + (1 - t) * Softplus(z));
    if ((z > 0) == (t >= 0.5)) sums.right += 1;
    if (row.delta == nullptr) continue;
    const double p = 1 / (1 + std::exp(-z));
    row.delta[j] = static_cast<float>(per * ((1 - t) * p - w * t * (1 - p)));
  }
  return sums;
}

LossSums MeanSquared(const LossSetting& setting, const Kernels& kernels, const RowPlace& row,
                     const Goal& goal) {
  LossSums sums{.weight = 1};
  const double per = 1.0 / static_cast<double>(row.n);
  for (std::size_t j = 0; j < row.n; ++j) {
    const double off = static_cast<double>(row.outputs[j]) - goal.At(j);
    sums.loss += per * off * off;
    if (row.delta != nullptr) row.delta[j] = static_cast<float>(2 * per * off);
  }
  if (row.delta == nullptr) return sums;
  if (setting.last->activation == Activation::kSoftmax) {
    kernels.units->softmax_back(row.outputs, row.n, row.delta);
  } else {
    kernels.units->activate_back(KindOf(*setting.last), setting.last->slope, row.sums, row.outputs,
                                 row.n, row.delta);
  }
  return sums;
}

}  // namespace

Status CheckLoss(const LossSetting& setting) {
  const Activation last = setting.last->activation;
  if (setting.loss == Loss::kCrossEntropy && last != Activation::kSoftmax &&
      last != Activation::kLinear) {
    return Bad("cross-entropy needs a last layer of softmax or linear units");
  }
  if (setting.loss == Loss::kBinaryCrossEntropy && last != Activation::kSigmoid &&
      last != Activation::kLinear) {
    return Bad("binary cross-entropy needs a last layer of sigmoid or linear units");
  }
  if (setting.class_weights.empty()) return Ok();
  if (setting.loss == Loss::kMeanSquared) return Bad("class weights need a cross-entropy");
  if (setting.class_weights.size() != setting.last->n_outputs) {
    return Bad(std::to_string(setting.class_weights.size()) + " class weights for " +
               std::to_string(setting.last->n_outputs) + " outputs");
  }
  for (const float w : setting.class_weights) {
    if (!(w > 0.0f) || !std::isfinite(w)) return Bad("class weights must be above 0");
  }
  return Ok();
}

std::size_t NumberOfRows(const Network& network, const Examples& examples) {
  return examples.inputs.size() / network.n_inputs();
}

Status CheckExamples(const Network& network, const Examples& examples, Loss loss,
                     const char* which) {
  const std::string where = which;
  const std::size_t n = NumberOfRows(network, examples), n_outputs = network.n_outputs();
  if (n == 0 || examples.inputs.size() != n * network.n_inputs()) {
    return Bad(where + ": " + std::to_string(examples.inputs.size()) +
               " numbers are no whole rows of " + std::to_string(network.n_inputs()));
  }
  if (n > 0xFFFF'FFFF) return Bad(where + ": too many rows");
  if (examples.labels.empty() == examples.targets.empty()) {
    return Bad(where + ": either labels or targets are needed");
  }
  if (const auto bad =
          std::ranges::find_if(examples.inputs, [](float x) { return !std::isfinite(x); });
      bad != examples.inputs.end()) {
    const auto at = static_cast<std::size_t>(bad - examples.inputs.begin());
    return Bad(where + ": input " + std::to_string(at % network.n_inputs()) + " of row " +
               std::to_string(at / network.n_inputs()) + " is not finite");
  }
  if (!examples.labels.empty()) {
    if (loss != Loss::kCrossEntropy) return Bad(where + ": labels are for cross-entropy");
    if (examples.labels.size() != n) {
      return Bad(where + ": " + std::to_string(examples.labels.size()) + " labels for " +
                 std::to_string(n) + " rows");
    }
    const auto most = *std::ranges::max_element(examples.labels);
    if (most >= n_outputs) {
      return Bad(where + ": label " + std::to_string(most) + ", but there are " +
                 std::to_string(n_outputs) + " outputs");
    }
    return Ok();
  }
  if (examples.targets.size() != n * n_outputs) {
    return Bad(where + ": " + std::to_string(examples.targets.size()) + " targets for " +
               std::to_string(n) + " rows of " + std::to_string(n_outputs));
  }
  const bool of_probabilities = loss != Loss::kMeanSquared;
  for (std::size_t i = 0; i < examples.targets.size(); ++i) {
    const float t = examples.targets[i];
    if (!std::isfinite(t) || (of_probabilities && (t < 0.0f || t > 1.0f))) {
      return Bad(where + ": target " + std::to_string(i % n_outputs) + " of row " +
                 std::to_string(i / n_outputs) +
                 (of_probabilities ? " is outside 0 to 1" : " is not finite"));
    }
  }
  return Ok();
}

LossSums ComputeLoss(const LossSetting& setting, const Examples& examples,
                     std::span<const std::uint32_t> rows, const Kernels& kernels, BatchPass& pass,
                     bool with_delta) {
  LossSums total;
  const std::size_t n = setting.last->n_outputs;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::size_t at = r * pass.stride();
    const RowPlace row = {pass.sums() + at, pass.outputs() + at,
                          with_delta ? pass.delta() + at : nullptr, n};
    const Goal goal = GoalOf(examples, rows[r], n);
    switch (setting.loss) {
      case Loss::kMeanSquared:
        total.Add(MeanSquared(setting, kernels, row, goal));
        break;
      case Loss::kCrossEntropy:
        total.Add(CrossEntropy(setting, row, goal));
        break;
      case Loss::kBinaryCrossEntropy:
        total.Add(BinaryCrossEntropy(setting, row, goal));
        break;
    }
  }
  if (!with_delta) return total;
  const float by = total.weight > 0 ? static_cast<float>(1 / total.weight) : 0.0f;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    float* const d = pass.delta() + r * pass.stride();
    for (std::size_t j = 0; j < n; ++j) d[j] *= by;
  }
  return total;
}

}  // namespace lattice::fann
