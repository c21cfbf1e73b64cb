#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "numeric/random.h"
#include "transport/engine.h"
#include "transport/symmetric_eigen.h"

namespace lattice::transport {
namespace {

Error Invalid(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message)};
}

Error TooFar() { return Invalid("the points are too far apart for these sums"); }

std::vector<std::size_t> Sorted(std::span<const float> x) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return x[i]; });
  return order;
}

// The north-west corner rule on sorted points is the optimal plan.
double OnLine(std::span<const float> x, std::span<const float> y, std::span<const double> a,
              std::span<const double> b, double p) {
  const auto xs = Sorted(x), ys = Sorted(y);
  std::size_t i = 0, j = 0;
  double left_a = a[xs[0]], left_b = b[ys[0]], cost = 0;
  while (true) {
    const double mass = std::min(left_a, left_b);
    const double distance = std::fabs(static_cast<double>(x[xs[i]]) - y[ys[j]]);
    if (mass > 0) cost += mass * (p == 2 ? distance * distance : std::pow(distance, p));
    left_a -= mass;
    left_b -= mass;
    const bool next_x = left_a <= left_b;
    if (next_x) {
      if (++i == xs.size()) return cost;
      left_a += a[xs[i]];
    } else {
      if (++j == ys.size()) return cost;
      left_b += b[ys[j]];
    }
  }
}

Status CheckPoints(const Points& points) {
  if (points.dims == 0 || points.values.empty() || points.values.size() % points.dims != 0) {
    return Invalid("a set without points, or without whole rows");
  }
  const auto bad = std::ranges::find_if(points.values, [](float v) { return !std::isfinite(v); });
  if (bad == points.values.end()) return Ok();
  return Invalid(
      "point " +
      std::to_string(static_cast<std::size_t>(bad - points.values.begin()) / points.dims) +
      " holds a value that is not finite");
}

struct Moments {
  std::vector<double> mean;        // [dims]
  std::vector<double> covariance;  // [dims, dims], divided by the sum of weights
};

// Products of blocks of rows in f32, sums of blocks in f64.
Moments MomentsOf(const Engine& engine, const Points& points, std::span<const double> weights) {
  const std::size_t d = points.dims, n = points.size();
  Moments m;
  m.mean.resize(d);
  m.covariance.resize(d * d);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t t = 0; t < d; ++t) {
      m.mean[t] += weights[i] * static_cast<double>(points.values[i * d + t]);
    }
  }
  std::vector<float> scaled(n * d);
  for (std::size_t i = 0; i < n; ++i) {
    const double root = std::sqrt(weights[i] * static_cast<double>(n));
    for (std::size_t t = 0; t < d; ++t) {
      const double off = static_cast<double>(points.values[i * d + t]) - m.mean[t];
      scaled[i * d + t] = static_cast<float>(root * off);
    }
  }
  constexpr std::size_t kBlock = 256;
  engine.pool.ParallelFor(d, 32, [&](std::size_t begin, std::size_t end) {
    std::vector<float> block((end - begin) * d);
    for (std::size_t i = 0; i < n; i += kBlock) {
      engine.kernels.product({.a = scaled.data() + i * d + begin,
                              .a_row_stride = 1,
                              .a_col_stride = d,
                              .b = scaled.data() + i * d,
                              .b_stride = d,
                              .c = block.data(),
                              .c_stride = d,
                              .m = end - begin,
                              .n = d,
                              .k = std::min(kBlock, n - i)});
      for (std::size_t t = 0; t < block.size(); ++t) {
        m.covariance[begin * d + t] += static_cast<double>(block[t]) / static_cast<double>(n);
      }
    }
  });
  return m;
}

// v s v^T for the rows of v, both [d, d].
std::vector<double> Conjugated(const Engine& engine, std::span<const double> v,
                               std::span<const double> s, std::size_t d) {
  std::vector<double> half(d * d), out(d * d);
  engine.pool.ParallelFor(d, 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t t = 0; t < d; ++t) {
        const double x = v[i * d + t];
        for (std::size_t j = 0; j < d; ++j) half[i * d + j] += x * s[t * d + j];
      }
    }
  });
  engine.pool.ParallelFor(d, 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = 0;
        for (std::size_t t = 0; t < d; ++t) sum += half[i * d + t] * v[j * d + t];
        out[i * d + j] = sum;
      }
    }
  });
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < i; ++j) out[j * d + i] = out[i * d + j];
  }
  return out;
}

double Root(double x) { return std::sqrt(std::max(0.0, x)); }

}  // namespace

Result<double> LineTransport(std::span<const float> x, std::span<const float> y, double p,
                             std::span<const double> a, std::span<const double> b) {
  if (!(p >= 1) || std::isinf(p)) return Invalid("the power must be at least 1 and finite");
  LATTICE_TRY_VOID(CheckPoints({x, 1}));
  LATTICE_TRY_VOID(CheckPoints({y, 1}));
  LATTICE_TRY(const auto source, CheckedWeights("source", a, x.size()));
  LATTICE_TRY(const auto target, CheckedWeights("target", b, y.size()));
  const double cost = OnLine(x, y, source, target, p);
  if (!std::isfinite(cost)) return TooFar();
  return cost;
}

Result<double> GaussianTransport(const Points& x, const Points& y, const Machine& machine) {
  constexpr std::size_t kMostDims = 2048;
  LATTICE_TRY(const auto engine, OwnedEngine::Make(machine));
  LATTICE_TRY_VOID(CheckPoints(x));
  LATTICE_TRY_VOID(CheckPoints(y));
  const std::size_t d = x.dims;
  if (y.dims != d) return Invalid("points of different dimensions");
  if (d > kMostDims) {
    return Error{ErrorCode::kUnsupported, "normal distributions of " + std::to_string(d) +
                                              " dimensions, at most " + std::to_string(kMostDims)};
  }
  LATTICE_TRY(const auto a, CheckedWeights("source", x.weights, x.size()));
  LATTICE_TRY(const auto b, CheckedWeights("target", y.weights, y.size()));
  const Moments first = MomentsOf(**engine, x, a), second = MomentsOf(**engine, y, b);
  for (const Moments* moments : {&first, &second}) {
    if (!std::ranges::all_of(moments->covariance, [](double v) { return std::isfinite(v); })) {
      return TooFar();
    }
  }
  // In the eigenbasis of the first covariance its root is diagonal.
  const Eigen basis = SymmetricEigen(first.covariance, d, true);
  std::vector<double> middle = Conjugated(**engine, basis.vectors, second.covariance, d);
  double squared = 0;
  for (std::size_t i = 0; i < d; ++i) {
    const double difference = first.mean[i] - second.mean[i];
    squared += difference * difference + first.covariance[i * d + i] + second.covariance[i * d + i];
    for (std::size_t j = 0; j < d; ++j) {
      middle[i * d + j] *= Root(basis.values[i]) * Root(basis.values[j]);
    }
  }
  for (const double v : SymmetricEigen(middle, d, false).values) squared -= 2 * Root(v);
  return std::max(0.0, squared);
}

Result<SlicedTransport> SolveSliced(const Points& x, const Points& y, std::size_t n_directions,
                                    std::uint64_t seed, const Machine& machine) {
  LATTICE_TRY(const auto engine, OwnedEngine::Make(machine));
  LATTICE_TRY_VOID(CheckPoints(x));
  LATTICE_TRY_VOID(CheckPoints(y));
  const std::size_t d = x.dims;
  if (y.dims != d) return Invalid("points of different dimensions");
  if (n_directions == 0 || n_directions > (std::size_t{1} << 20)) {
    return Invalid("1 to 1,048,576 directions");
  }
  LATTICE_TRY(const auto a, CheckedWeights("source", x.weights, x.size()));
  LATTICE_TRY(const auto b, CheckedWeights("target", y.weights, y.size()));
  std::vector<double> values(n_directions);
  const Engine& on = **engine;
  on.pool.ParallelEach(n_directions, [&](std::size_t k) {
    if (on.stop.stop_requested()) return;
    Random random(seed, k);
    std::vector<float> direction(d), of_x(x.size()), of_y(y.size());
    double squared = 0;
    for (float& v : direction) {
      v = static_cast<float>(random.Normal());
      squared += static_cast<double>(v) * static_cast<double>(v);
    }
    for (float& v : direction) v = static_cast<float>(v / std::sqrt(squared));
    for (std::size_t i = 0; i < of_x.size(); ++i) {
      of_x[i] = on.kernels.dot->dot(direction.data(), x.values.data() + i * d, d);
    }
    for (std::size_t j = 0; j < of_y.size(); ++j) {
      of_y[j] = on.kernels.dot->dot(direction.data(), y.values.data() + j * d, d);
    }
    values[k] = OnLine(of_x, of_y, a, b, 2);
  });
  if (on.stop.stop_requested()) return Error{ErrorCode::kCancelled, "transport cancelled"};
  SlicedTransport result;
  const auto n = static_cast<double>(n_directions);
  for (const double v : values) result.value += v / n;
  if (!std::isfinite(result.value)) return TooFar();
  double squares = 0;
  for (const double v : values) squares += (v - result.value) * (v - result.value);
  if (n_directions > 1) result.standard_error = std::sqrt(squares / (n - 1) / n);
  return result;
}

}  // namespace lattice::transport
