#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace lattice::transport {

/// How a potential follows from `exact`, the one that would send exactly the weight.
struct Relaxation {
  double rho = std::numeric_limits<double>::infinity();
  /// Partial: a point sends at most its weight, so that its potential has this bound.
  double most = std::numeric_limits<double>::infinity();

  double operator()(double exact, double epsilon) const {
    return std::isinf(rho) ? std::min(exact, most) : exact * (rho / (rho + epsilon));
  }
  /// From `now` towards `step` and `overshoot` times as far, but within the bound.
  double Beyond(double now, double step, double overshoot) const {
    return overshoot == 1 ? step : std::min(now + overshoot * (step - now), most);
  }
  /// The price of the potential in the dual problem, per unit of weight.
  double Dual(double potential) const {
    return std::isinf(rho) ? potential : -rho * std::expm1(-potential / rho);
  }
};

/// The bound with which targets of weights b receive `share` of the sum of b, where target j alone
/// would receive b[j] e^((bound - exact[j]) / epsilon) and takes at most b[j]. share in (0, 1).
/// Infinity when an element of exact is not finite.
double PartialBound(std::span<const double> exact, std::span<const double> b, double share,
                    double epsilon);

}  // namespace lattice::transport
