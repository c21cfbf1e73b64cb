#include "fann/update.h"

#include <algorithm>
#include <cmath>

namespace lattice::fann {
namespace {

constexpr std::size_t kSegment = 8192;  // Elements: with two memories and the gradient, 128 KiB.
constexpr std::size_t kCost = 8;        // Of an element's update, in multiply-adds.

std::size_t NumberOfMemories(const TrainOptions& options) {
  switch (options.optimiser) {
    case Optimiser::kSgd:
      return options.momentum == 0 ? 0 : 1;
    case Optimiser::kAdam:
    case Optimiser::kAdamW:
      return 2;
    case Optimiser::kRmsProp:
      return 1;
  }
  return 0;
}

}  // namespace

std::vector<Segment> SegmentsOf(const NetworkData& data) {
  std::vector<Segment> segments;
  const auto cut = [&](std::size_t begin, std::size_t end, bool decays) {
    for (; begin < end; begin += kSegment) {
      segments.push_back({begin, std::min(kSegment, end - begin), decays});
    }
  };
  for (const LayerPlace& place : data.places) {
    cut(place.weights, place.biases, true);
    cut(place.biases, place.end, false);
  }
  return segments;
}

double GradientNorm(std::span<const float> gradient, std::span<const Segment> segments,
                    const Kernels& kernels, Workers& workers) {
  constexpr std::size_t kMany = 256;
  double sum = 0;
  float parts[kMany];
  for (std::size_t first = 0; first < segments.size(); first += kMany) {
    const std::size_t n = std::min(kMany, segments.size() - first);
    workers.Each(n, kSegment / 8, [&](std::size_t i) {
      const Segment& segment = segments[first + i];
      parts[i] = kernels.units->sum_squares(gradient.data() + segment.begin, segment.n);
    });
    for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(parts[i]);
  }
  if (std::isfinite(sum)) return std::sqrt(sum);
  // Squares may exceed f32 where the elements do not.
  sum = 0;
  for (const float g : gradient) sum += static_cast<double>(g) * g;
  return std::sqrt(sum);
}

Updater::Updater(const NetworkData& data, const TrainOptions& options)
    : optimiser_(options.optimiser),
      momentum_(options.momentum),
      beta1_(options.beta1),
      beta2_(options.beta2),
      epsilon_(options.epsilon),
      weight_decay_(options.weight_decay) {
  for (std::size_t i = 0; i < NumberOfMemories(options); ++i) {
    memories.emplace_back(data.parameters.size());
    std::ranges::fill(memories.back().As<float>(), 0.0f);
  }
}

void Updater::Step(std::span<float> parameters, std::span<const float> gradient, double rate,
                   double scale, std::span<const Segment> segments, const Kernels& kernels,
                   Workers& workers) {
  ++n_steps;
  const auto steps = static_cast<double>(n_steps);
  const bool is_adam = optimiser_ == Optimiser::kAdam || optimiser_ == Optimiser::kAdamW;
  const double first = is_adam ? 1 - std::pow(beta1_, steps) : 1;
  const double second = is_adam ? 1 - std::pow(beta2_, steps) : 1;
  const bool decoupled = optimiser_ == Optimiser::kAdamW;
  workers.Each(segments.size(), kSegment * kCost, [&](std::size_t i) {
    const Segment& segment = segments[i];
    const double decay = segment.decays ? weight_decay_ : 0;
    const auto memory = [&](std::size_t which) {
      return which < memories.size() ? memories[which].As<float>().data() + segment.begin : nullptr;
    };
    UpdateArgs args = {
        .p = parameters.data() + segment.begin,
        .g = gradient.data() + segment.begin,
        .first = memory(0),
        .second = memory(1),
        .n = segment.n,
        .scale = static_cast<float>(scale),
        .l2 = static_cast<float>(decoupled ? 0 : decay),
        .keep = static_cast<float>(decoupled ? 1 - rate * decay : 1),
        .rate = static_cast<float>(rate / first),
        .beta1 = static_cast<float>(is_adam ? beta1_ : momentum_),
        .beta2 = static_cast<float>(beta2_),
        .inverse_root = static_cast<float>(1 / std::sqrt(second)),
        .epsilon = static_cast<float>(epsilon_),
    };
    switch (optimiser_) {
      case Optimiser::kSgd:
        return memories.empty() ? kernels.units->sgd(args) : kernels.units->momentum(args);
      case Optimiser::kAdam:
      case Optimiser::kAdamW:
        return kernels.units->adam(args);
      case Optimiser::kRmsProp:
        args.second = args.first;
        return kernels.units->rmsprop(args);
    }
  });
}

}  // namespace lattice::fann
