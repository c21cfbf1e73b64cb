#include <algorithm>
#include <cmath>
#include <numbers>

#include "lattice/fann_training.h"

namespace lattice::fann {
namespace {

// From 1 to 0 along half a cosine.
double Fall(double share) {
  return 0.5 * (1 + std::cos(std::numbers::pi * std::clamp(share, 0.0, 1.0)));
}

double OneCycle(double share, double rise) {
  constexpr double kStart = 1.0 / 25, kEnd = 1.0 / 250'000;
  if (share < rise) return kStart + (1 - kStart) * (1 - Fall(share / rise));
  return kEnd + (1 - kEnd) * Fall((share - rise) / (1 - rise));
}

}  // namespace

double ScheduleFactor(const Schedule& schedule, std::uint64_t step, std::uint64_t n_steps,
                      std::uint64_t steps_per_epoch) {
  const auto s = static_cast<double>(step);
  const double last = std::max(1.0, static_cast<double>(n_steps) - 1);
  if (schedule.kind == ScheduleKind::kOneCycle) return OneCycle(s / last, schedule.rise);
  if (step < schedule.warmup_steps) return (s + 1) / static_cast<double>(schedule.warmup_steps);
  const double epoch = s / static_cast<double>(std::max<std::uint64_t>(1, steps_per_epoch));
  switch (schedule.kind) {
    case ScheduleKind::kStep:
      return std::pow(schedule.factor, std::floor(std::floor(epoch) / schedule.period));
    case ScheduleKind::kExponential:
      return std::pow(schedule.factor, epoch / schedule.period);
    case ScheduleKind::kCosine: {
      const auto warm = static_cast<double>(schedule.warmup_steps);
      return schedule.floor + (1 - schedule.floor) * Fall((s - warm) / std::max(1.0, last - warm));
    }
    case ScheduleKind::kConstant:
    case ScheduleKind::kOneCycle:
      break;
  }
  return 1;
}

}  // namespace lattice::fann
