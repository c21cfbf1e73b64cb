#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "fann/batch_pass.h"
#include "lattice/fann_training.h"
#include "numeric/random.h"

namespace lattice::fann {
namespace {

constexpr std::size_t kMostSamples = 100'000'000;  // Times choices.

Error Bad(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

}  // namespace

struct RouterTrainer::State {
  State(Network& net, const RouterOptions& wanted, const Kernels& found)
      : network(net),
        options(wanted),
        kernels(found),
        workers(1),
        pass(net.data(), kernels, workers, 1),
        padded(net.data().parameters.size()),
        parameters(net.n_parameters()),
        gradient(net.n_parameters()),
        p(net.n_outputs()),
        random(wanted.seed) {
    std::ranges::fill(padded.As<float>(), 0.0f);
  }

  Status Look(std::span<const float> context);
  Status Learn(std::span<const double> policy);

  Network& network;
  RouterOptions options;
  Kernels kernels;
  Workers workers;
  BatchPass pass;
  AlignedBuffer padded;
  std::vector<float> parameters, gradient;
  std::vector<double> p;  // Of the choices in the present context.
  double log_sum = 0;     // ln sum of e^logit
  Random random;
  std::optional<DiagonalFisher> fisher;
  bool is_anchored = false;
};

RouterTrainer::RouterTrainer(std::unique_ptr<State> state) : state_(std::move(state)) {}
RouterTrainer::RouterTrainer(RouterTrainer&&) noexcept = default;
RouterTrainer& RouterTrainer::operator=(RouterTrainer&&) noexcept = default;
RouterTrainer::~RouterTrainer() = default;

Result<RouterTrainer> RouterTrainer::Create(Network& gate, const RouterOptions& options) {
  if (gate.layer(gate.n_layers() - 1).activation != Activation::kLinear) {
    return Bad("the last layer of a router must be linear: its outputs are logits");
  }
  if (!(options.rate > 0.0f) || !std::isfinite(options.rate))
    return Bad("the rate must be above 0");
  for (const float x : {options.balance, options.z, options.ewc_strength}) {
    if (!(x >= 0.0f) || !std::isfinite(x)) return Bad("a factor of the router must be at least 0");
  }
  LATTICE_TRY(const Kernels kernels, FindKernels(options.instruction_set));
  auto state = std::make_unique<State>(gate, options, kernels);
  if (options.ewc_strength > 0.0f) {
    LATTICE_TRY(state->fisher, DiagonalFisher::Create(gate.n_parameters(), options.fisher_decay));
  }
  return RouterTrainer(std::move(state));
}

// The probabilities of the choices.
Status RouterTrainer::State::Look(std::span<const float> context) {
  if (context.size() != network.n_inputs()) {
    return Bad("the context has " + std::to_string(context.size()) + " numbers, not " +
               std::to_string(network.n_inputs()));
  }
  if (!AllFinite(context)) return Bad("the context is not finite");
  pass.Forward(context.data(), context.size(), 1, nullptr);
  const std::span<const float> logits(pass.sums(), p.size());
  if (!AllFinite(logits)) return Bad("a logit is not finite");
  const double max = *std::ranges::max_element(logits);
  double sum = 0;
  for (std::size_t j = 0; j < p.size(); ++j) sum += p[j] = std::exp(logits[j] - max);
  for (double& x : p) x /= sum;
  log_sum = max + std::log(sum);
  return Ok();
}

// One step along the policy's gradient by the logits, with what balance and z-loss add.
Status RouterTrainer::State::Learn(std::span<const double> policy) {
  const double even = 1.0 / static_cast<double>(p.size());
  double squares = 0;
  for (const double x : p) squares += x * x;
  for (std::size_t j = 0; j < p.size(); ++j) {
    const double balance = options.balance * 2 * even * p[j] * (p[j] - even - (squares - even));
    const double z = options.z * 2 * log_sum * p[j];
    pass.delta()[j] = static_cast<float>(policy[j] + balance + z);
  }
  pass.Backward(padded.As<float>().data());
  const NetworkData& data = network.data();
  GatherParameters(data, padded.As<float>(), gradient);
  GatherParameters(data, data.values(), parameters);
  if (fisher) {
    LATTICE_TRY_VOID(fisher->Observe(gradient));
    if (is_anchored) {
      LATTICE_TRY_VOID(fisher->AddPenalty(parameters, options.ewc_strength, gradient));
    }
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] -= options.rate * gradient[i];
  // Refuses what is not finite: the network is then as before.
  return network.SetParameters(parameters);
}

Result<float> RouterTrainer::Feedback(std::span<const float> context, std::size_t choice,
                                      float reward) {
  State& s = *state_;
  if (choice >= s.p.size()) {
    return Bad("choice " + std::to_string(choice) + " of " + std::to_string(s.p.size()));
  }
  if (!std::isfinite(reward)) return Bad("the reward is not finite");
  LATTICE_TRY_VOID(s.Look(context));
  std::vector<double> policy(s.p.size());
  for (std::size_t j = 0; j < policy.size(); ++j) {
    policy[j] = reward * (s.p[j] - (j == choice ? 1 : 0));
  }
  const double loss = -reward * std::log(std::max(s.p[choice], 1e-9));
  LATTICE_TRY_VOID(s.Learn(policy));
  return static_cast<float>(loss);
}

Result<float> RouterTrainer::Sample(std::span<const float> context, std::size_t preferred,
                                    std::size_t subset_size, std::size_t n_samples) {
  State& s = *state_;
  const std::size_t k = s.p.size();
  if (preferred >= k) {
    return Bad("choice " + std::to_string(preferred) + " of " + std::to_string(k));
  }
  if (subset_size == 0 || subset_size > k) {
    return Bad("a subset has 1 to " + std::to_string(k) + " choices, not " +
               std::to_string(subset_size));
  }
  if (n_samples == 0 || n_samples > kMostSamples / k) return Bad("too many samples, or none");
  LATTICE_TRY_VOID(s.Look(context));
  std::vector<double> rewards(n_samples), keys(k);
  std::vector<std::size_t> order(k), drawn;
  double sum = 0;
  for (double& reward : rewards) {
    // Noise by which the largest are a draw without repetition (Gumbel).
    for (std::size_t j = 0; j < k; ++j) {
      const double u = std::max(s.random.Uniform(), 0x1p-60);
      keys[j] = static_cast<double>(s.pass.sums()[j]) - std::log(-std::log(u));
    }
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(subset_size),
                              [&](std::size_t a, std::size_t b) {
                                return keys[a] != keys[b] ? keys[a] > keys[b] : a < b;
                              });
    drawn.insert(drawn.end(), order.begin(),
                 order.begin() + static_cast<std::ptrdiff_t>(subset_size));
    const auto own = std::span(drawn).last(subset_size);
    reward = std::ranges::find(own, preferred) != own.end() ? 1 : -1;
    sum += reward;
  }
  std::vector<double> policy(k);
  const auto m = static_cast<double>(n_samples);
  for (std::size_t i = 0; i < n_samples; ++i) {
    const double others = n_samples > 1 ? (sum - rewards[i]) / (m - 1) : 0;
    const double advantage = (rewards[i] - others) / m;
    for (std::size_t j = 0; j < k; ++j) {
      policy[j] += advantage * static_cast<double>(subset_size) * s.p[j];
    }
    for (const std::size_t j : std::span(drawn).subspan(i * subset_size, subset_size)) {
      policy[j] -= advantage;
    }
  }
  LATTICE_TRY_VOID(s.Learn(policy));
  return static_cast<float>(sum / m);
}

void RouterTrainer::SetAnchor() {
  State& s = *state_;
  if (!s.fisher) return;
  const auto set = s.fisher->SetAnchor(s.network.Parameters());
  LATTICE_CHECK(set.has_value());
  s.is_anchored = true;
}

const DiagonalFisher* RouterTrainer::fisher() const {
  return state_->fisher ? &*state_->fisher : nullptr;
}

}  // namespace lattice::fann
