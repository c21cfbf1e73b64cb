#include "transport/symmetric_eigen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace lattice::transport {
namespace {

// A = Q T Q^T: T's diagonal and sub-diagonal. Rows of `q` become the columns of Q.
struct Tridiagonal {
  std::vector<double> diagonal, below;  // below[i] couples i and i + 1
};

// Applies the reflection I - 2 v v^T / (v^T v) of each column to the rest, from both sides.
Tridiagonal Reduce(std::vector<double>& a, std::size_t n, std::vector<double>* q) {
  std::vector<double> v(n), p(n);
  for (std::size_t k = 0; k + 2 < n; ++k) {
    double norm = 0;
    for (std::size_t i = k + 1; i < n; ++i) norm = std::hypot(norm, a[i * n + k]);
    if (norm == 0) continue;
    const double head = a[(k + 1) * n + k];
    const double alpha = head > 0 ? -norm : norm;
    std::fill(v.begin(), v.end(), 0.0);
    for (std::size_t i = k + 1; i < n; ++i) v[i] = a[i * n + k];
    v[k + 1] -= alpha;
    const double squared = std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
    const double beta = 2 / squared;
    // p = beta A v, then A -= v w^T + w v^T with w = p - (beta / 2) (p.v) v.
    std::fill(p.begin(), p.end(), 0.0);
    for (std::size_t i = k; i < n; ++i) {
      double sum = 0;
      for (std::size_t j = k + 1; j < n; ++j) sum += a[i * n + j] * v[j];
      p[i] = beta * sum;
    }
    const double half = beta / 2 * std::inner_product(p.begin(), p.end(), v.begin(), 0.0);
    for (std::size_t i = k; i < n; ++i) p[i] -= half * v[i];
    for (std::size_t i = k; i < n; ++i) {
      for (std::size_t j = k; j < n; ++j) a[i * n + j] -= v[i] * p[j] + p[i] * v[j];
    }
    if (q == nullptr) continue;
    for (std::size_t r = 0; r < n; ++r) {  // Q <- Q H: here the rows of q are Q's columns.
      p[r] = 0;
    }
    for (std::size_t c = k + 1; c < n; ++c) {
      for (std::size_t r = 0; r < n; ++r) p[r] += v[c] * (*q)[c * n + r];
    }
    for (std::size_t c = k + 1; c < n; ++c) {
      for (std::size_t r = 0; r < n; ++r) (*q)[c * n + r] -= beta * v[c] * p[r];
    }
  }
  Tridiagonal t;
  t.diagonal.resize(n);
  t.below.assign(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) t.diagonal[i] = a[i * n + i];
  for (std::size_t i = 0; i + 1 < n; ++i) t.below[i] = a[(i + 1) * n + i];
  return t;
}

// One QL sweep on [low, high] with the shift of the upper corner.
void Sweep(Tridiagonal& t, std::size_t n, std::size_t low, std::size_t high,
           std::vector<double>* q) {
  auto& d = t.diagonal;
  auto& e = t.below;
  double g = (d[low + 1] - d[low]) / (2 * e[low]);
  double r = std::hypot(g, 1.0);
  g = d[high] - d[low] + e[low] / (g + std::copysign(r, g));
  double s = 1, c = 1, p = 0;
  for (std::size_t i = high; i-- > low;) {
    const double f = s * e[i], b = c * e[i];
    r = std::hypot(f, g);
    e[i + 1] = r;
    if (r == 0) {  // The matrix falls apart here.
      d[i + 1] -= p;
      e[high] = 0;
      return;
    }
    s = f / r;
    c = g / r;
    g = d[i + 1] - p;
    r = (d[i] - g) * s + 2 * c * b;
    p = s * r;
    d[i + 1] = g + p;
    g = c * r - b;
    if (q == nullptr) continue;
    double* const upper = q->data() + i * n;
    double* const lower = upper + n;
    for (std::size_t k = 0; k < n; ++k) {
      const double old = lower[k];
      lower[k] = s * upper[k] + c * old;
      upper[k] = c * upper[k] - s * old;
    }
  }
  d[low] -= p;
  e[low] = g;
  e[high] = 0;
}

}  // namespace

Eigen SymmetricEigen(std::span<const double> matrix, std::size_t n, bool with_vectors) {
  std::vector<double> a(matrix.begin(), matrix.end()), q;
  if (with_vectors) {
    q.assign(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) q[i * n + i] = 1;
  }
  std::vector<double>* const rows = with_vectors ? &q : nullptr;
  Tridiagonal t = Reduce(a, n, rows);
  constexpr int kMostSweeps = 100;  // Of one eigenvalue; two or three are usual.
  for (std::size_t low = 0; low < n; ++low) {
    for (int k = 0; k < kMostSweeps; ++k) {
      std::size_t high = low;
      while (high + 1 < n) {
        const double size = std::fabs(t.diagonal[high]) + std::fabs(t.diagonal[high + 1]);
        if (std::fabs(t.below[high]) <= std::numeric_limits<double>::epsilon() * size) break;
        ++high;
      }
      if (high == low) break;
      Sweep(t, n, low, high, rows);
    }
  }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return t.diagonal[i]; });
  Eigen result;
  for (const std::size_t i : order) {
    result.values.push_back(t.diagonal[i]);
    if (!with_vectors) continue;
    const auto row = q.begin() + static_cast<std::ptrdiff_t>(i * n);
    result.vectors.insert(result.vectors.end(), row, row + static_cast<std::ptrdiff_t>(n));
  }
  return result;
}

}  // namespace lattice::transport
