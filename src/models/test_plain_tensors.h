#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/token_id.h"
#include "models/test_rewrite.h"

namespace lattice::models {

/// What plain models in double are made of: the tensors of one EditableModel behind the prefix
/// "model.", and the few operations on one row that all of them know.
class PlainTensors {
 public:
  using Row = std::vector<double>;

 protected:
  PlainTensors(const EditableModel& model, double eps, double norm_offset)
      : model_(model), eps_(eps), norm_offset_(norm_offset) {}

  const std::vector<float>& Weights(const std::string& name) {
    auto& kept = cache_[name];
    if (kept.empty()) kept = model_.Floats("model." + name);
    return kept;
  }
  bool Has(const std::string& name) const { return model_.tensors.contains("model." + name); }
  /// Row i of a table of rows of n.
  Row TableRow(const std::string& name, TokenId i, std::size_t n) {
    return Part(Weights(name), static_cast<std::size_t>(i) * n, n);
  }
  template <typename Values>
  static Row Part(const Values& values, std::size_t first, std::size_t n) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
    return {begin, begin + static_cast<std::ptrdiff_t>(n)};
  }
  /// Matrix i of a tensor of many, times x.
  Row Product(const std::string& name, const Row& x, std::size_t i, std::size_t n_rows) {
    const auto& w = Weights(name);
    Row y(n_rows);
    for (std::size_t r = 0; r < n_rows; ++r) {
      for (std::size_t c = 0; c < x.size(); ++c) {
        y[r] += static_cast<double>(w[(i * n_rows + r) * x.size() + c]) * x[c];
      }
    }
    return y;
  }
  Row Product(const std::string& name, const Row& x) {
    return Product(name, x, 0, Weights(name).size() / x.size());
  }
  Row PlainNorm(Row x) const {
    double sum = 0;
    for (const double v : x) sum += v * v;
    const double inverse = 1 / std::sqrt(sum / static_cast<double>(x.size()) + eps_);
    for (double& v : x) v *= inverse;
    return x;
  }
  Row Norm(const std::string& name, const Row& x) {
    const auto& gain = Weights(name);
    Row y = PlainNorm(x);
    for (std::size_t c = 0; c < y.size(); ++c) y[c] *= static_cast<double>(gain[c]) + norm_offset_;
    return y;
  }
  static void Add(const Row& y, Row& x, double weight = 1) {
    for (std::size_t c = 0; c < x.size(); ++c) x[c] += weight * y[c];
  }
  static void Scale(double factor, Row& x) {
    for (double& v : x) v *= factor;
  }
  static double Cap(double c, double v) { return c * std::tanh(v / c); }
  static double Gelu(double g) {
    return 0.5 * g * (1 + std::tanh(0.7978845608028654 * (g + 0.044715 * g * g * g)));
  }
  static double Silu(double g) { return g / (1 + std::exp(-g)); }
  static Row Softmax(Row x) {
    double sum = 0;
    for (double& v : x) sum += v = std::exp(v);
    Scale(1 / sum, x);
    return x;
  }
  /// Turns pairs (j, j + head.size() / 2) by pos * frequencies[j]; pairs without one stay.
  static void Rotate(double pos, const Row& frequencies, std::size_t half, Row& head) {
    for (std::size_t j = 0; j < frequencies.size(); ++j) {
      const double cosine = std::cos(pos * frequencies[j]), sine = std::sin(pos * frequencies[j]);
      const double a = head[j], b = head[j + half];
      head[j] = a * cosine - b * sine;
      head[j + half] = b * cosine + a * sine;
    }
  }
  /// The experts from the most probable to the least.
  static std::vector<std::size_t> Ranking(const Row& p) {
    std::vector<std::size_t> order(p.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return p[a] > p[b]; });
    return order;
  }
  /// The values, weighted by the softmax of scale * q k, capped if `cap` is not 0.
  static Row Mix(const Row& q, std::span<const Row> keys, std::span<const Row> values, double scale,
                 double cap) {
    Row scores;
    for (const Row& k : keys) {
      const double s = scale * std::inner_product(q.begin(), q.end(), k.begin(), 0.0);
      scores.push_back(cap > 0 ? Cap(cap, s) : s);
    }
    scores = Softmax(std::move(scores));
    Row mixed(q.size());
    for (std::size_t p = 0; p < scores.size(); ++p) Add(values[p], mixed, scores[p]);
    return mixed;
  }

 private:
  const EditableModel& model_;
  double eps_, norm_offset_;
  std::map<std::string, std::vector<float>> cache_;
};

}  // namespace lattice::models
