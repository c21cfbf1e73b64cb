#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/checked_math.h"
#include "transport/engine.h"

namespace lattice::transport {
namespace {

constexpr std::size_t kMostPairs = std::size_t{1} << 20;
constexpr std::size_t kNone = static_cast<std::size_t>(-1);
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Masses below this are what rounding leaves of nothing: weights sum to 1.
constexpr double kDust = 1e-15;

// Successive shortest augmenting paths on the dense bipartite graph, with prices that keep all
// reduced costs non-negative (Dijkstra). Sources 0..n-1, targets n..n+m-1.
class ShortestPaths {
 public:
  ShortestPaths(const CostRows& rows, std::span<const double> a, std::span<const double> b)
      : n_(a.size()), m_(b.size()), supply_(a.begin(), a.end()), demand_(b.begin(), b.end()) {
    cost_.resize(n_ * m_);
    flow_.resize(n_ * m_);
    std::vector<float> scratch(m_);
    for (std::size_t i = 0; i < n_; ++i) {
      const float* s = rows.Rows(i, 1, scratch.data());
      for (std::size_t j = 0; j < m_; ++j) {
        cost_[i * m_ + j] = rows.CostOf(i, j, static_cast<double>(s[j]));
      }
    }
    price_.assign(n_ + m_, 0.0);
    // A target's price is its cheapest cost: no reduced cost is negative.
    for (std::size_t j = 0; j < m_; ++j) {
      double least = kInfinity;
      for (std::size_t i = 0; i < n_; ++i) least = std::min(least, cost_[i * m_ + j]);
      price_[n_ + j] = least;
    }
  }

  Status Run(const std::stop_token& stop) {
    for (std::size_t i = 0; i < n_; ++i) {
      while (supply_[i] > kDust) {
        if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "transport cancelled"};
        const std::size_t end = Search(i);
        if (end == kNone) break;  // Rounding has left the demands a little smaller.
        Augment(i, end);
      }
    }
    return Ok();
  }

  ExactTransport Result() const {
    ExactTransport out;
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < m_; ++j) {
        const double mass = flow_[i * m_ + j];
        if (mass <= kDust) continue;
        out.plan.push_back({i, j, mass});
        out.cost += mass * cost_[i * m_ + j];
      }
    }
    for (std::size_t i = 0; i < n_; ++i) out.source.push_back(-price_[i]);
    out.target.assign(price_.begin() + static_cast<std::ptrdiff_t>(n_), price_.end());
    return out;
  }

 private:
  double Reduced(std::size_t i, std::size_t j) const {
    return std::max(0.0, cost_[i * m_ + j] + price_[i] - price_[n_ + j]);
  }

  // The nearest target with demand, from source `from`; prices are raised by the distances.
  std::size_t Search(std::size_t from) {
    distance_.assign(n_ + m_, kInfinity);
    before_.assign(n_ + m_, kNone);
    done_.assign(n_ + m_, false);
    distance_[from] = 0;
    std::size_t end = kNone;
    while (end == kNone) {
      std::size_t at = kNone;
      for (std::size_t v = 0; v < n_ + m_; ++v) {
        if (!done_[v] && distance_[v] < kInfinity &&
            (at == kNone || distance_[v] < distance_[at])) {
          at = v;
        }
      }
      if (at == kNone) return kNone;
      done_[at] = true;
      if (at >= n_ && demand_[at - n_] > kDust) {
        end = at;
      } else {
        Relax(at);
      }
    }
    const double most = distance_[end];
    for (std::size_t v = 0; v < n_ + m_; ++v) price_[v] += std::min(distance_[v], most);
    return end;
  }

  void Relax(std::size_t at) {
    const auto offer = [&](std::size_t v, double length) {
      if (done_[v] || !(distance_[at] + length < distance_[v])) return;
      distance_[v] = distance_[at] + length;
      before_[v] = at;
    };
    if (at < n_) {
      for (std::size_t j = 0; j < m_; ++j) offer(n_ + j, Reduced(at, j));
    } else {  // Back along what flows: its reduced cost is zero.
      for (std::size_t i = 0; i < n_; ++i) {
        if (flow_[i * m_ + at - n_] > kDust) offer(i, 0);
      }
    }
  }

  void Augment(std::size_t from, std::size_t end) {
    double mass = std::min(supply_[from], demand_[end - n_]);
    for (std::size_t v = end; v != from; v = before_[v]) {
      if (v < n_) mass = std::min(mass, flow_[v * m_ + before_[v] - n_]);
    }
    for (std::size_t v = end; v != from; v = before_[v]) {
      if (v < n_) {
        flow_[v * m_ + before_[v] - n_] -= mass;
      } else {
        flow_[before_[v] * m_ + v - n_] += mass;
      }
    }
    supply_[from] -= mass;
    demand_[end - n_] -= mass;
  }

  std::size_t n_, m_;
  std::vector<double> supply_, demand_, cost_, flow_, price_, distance_;
  std::vector<std::size_t> before_;
  std::vector<bool> done_;
};

}  // namespace

Result<ExactTransport> SolveExact(const Cost& cost, std::span<const double> a,
                                  std::span<const double> b, const Machine& machine) {
  LATTICE_TRY(const auto engine, OwnedEngine::Make(machine));
  const auto n_pairs = CheckedMul(cost.n_sources(), cost.n_targets());
  if (!n_pairs || *n_pairs > kMostPairs) {
    return Error{ErrorCode::kUnsupported, "exact transport of " + std::to_string(cost.n_sources()) +
                                              " times " + std::to_string(cost.n_targets()) +
                                              " pairs, at most " + std::to_string(kMostPairs)};
  }
  LATTICE_TRY(const CostRows rows, RowsOf(**engine, cost));
  LATTICE_TRY(const auto source, CheckedWeights("source", a, rows.n_rows()));
  LATTICE_TRY(const auto target, CheckedWeights("target", b, rows.n_columns()));
  ShortestPaths paths(rows, source, target);
  LATTICE_TRY_VOID(paths.Run(machine.stop));
  return paths.Result();
}

}  // namespace lattice::transport
