#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "lattice/fann.h"
#include "lattice/result.h"

/// Training of small dense networks, and of routers while they are used.
///
/// The same bits for any number of threads and any instruction set, and for a run that was stopped,
/// saved and resumed.
namespace lattice::fann {

/// What is made small. Of a batch: the mean over its rows.
enum class Loss : std::uint8_t {
  kMeanSquared,         ///< Mean over outputs of (output - target)^2.
  kCrossEntropy,        ///< -sum of target * log softmax(z); the last layer is softmax or linear.
  kBinaryCrossEntropy,  ///< Mean over outputs; the last layer is sigmoid or linear (z = logits).
};

enum class Optimiser : std::uint8_t { kSgd, kAdam, kAdamW, kRmsProp };

/// The learning rate of step s of S, a factor of `rate`; all but one-cycle begin with a warm-up.
enum class ScheduleKind : std::uint8_t {
  kConstant,
  kStep,         ///< factor^(floor(epoch / period))
  kExponential,  ///< factor^(epoch / period), in every step.
  kCosine,       ///< From 1 down to `floor` along half a cosine.
  kOneCycle,     ///< From 1/25 up to 1 in the first `rise` of all steps, then down to 1/250000.
};

struct Schedule {
  ScheduleKind kind = ScheduleKind::kConstant;
  std::size_t warmup_steps = 0;  ///< Linear from 1 / warmup_steps.
  double factor = 0.1;
  double period = 10;  ///< Epochs.
  double floor = 0;
  double rise = 0.3;
};
/// The factor for step `step` (0-based) of `n_steps`.
double ScheduleFactor(const Schedule& schedule, std::uint64_t step, std::uint64_t n_steps,
                      std::uint64_t steps_per_epoch);

/// What happens when a gradient is not finite.
enum class Guard : std::uint8_t {
  kError,     ///< Training ends; the network is as before the step.
  kSanitise,  ///< Such elements are zero.
  kSkip,      ///< The batch is left out.
};

/// Rows and what they should give; borrowed. Exactly one of targets and labels is used.
struct Examples {
  std::span<const float> inputs;               ///< [n, n_inputs]
  std::span<const float> targets = {};         ///< [n, n_outputs]
  std::span<const std::uint32_t> labels = {};  ///< [n]: the output that should be 1. Cross-entropy.
};

/// After an epoch. Absent values were not measured.
struct EpochReport {
  std::size_t epoch = 0;  ///< 1-based.
  std::uint64_t n_steps = 0;
  double rate = 0;
  double loss = 0;                 ///< Mean over the epoch, while the network changed.
  std::optional<double> accuracy;  ///< Of the same; cross-entropy and binary only.
  std::optional<double> validation_loss;
  std::optional<double> validation_accuracy;
  std::optional<double> metric;                  ///< What TrainOptions::metric gave.
  std::uint64_t n_sanitised = 0, n_skipped = 0;  ///< Batches, since the beginning.
  bool is_best = false;
};

/// What early stopping looks at: of the validation rows, or of training where there are none.
enum class Watched : std::uint8_t {
  kLoss,
  kAccuracy,
  kMetricLow,   ///< TrainOptions::metric, better when smaller.
  kMetricHigh,  ///< The same, better when larger.
};

struct EarlyStopping {
  std::size_t patience = 0;  ///< Epochs without a better value before the end; 0: never.
  Watched watched = Watched::kLoss;
  double min_delta = 0;      ///< What counts as better.
  bool restore_best = true;  ///< At the end the network is the best one. Only with patience.
};

struct TrainOptions {
  Loss loss = Loss::kMeanSquared;
  Optimiser optimiser = Optimiser::kAdam;
  double rate = 1e-3;
  Schedule schedule = {};
  double momentum = 0.9;  ///< SGD.
  double beta1 = 0.9;     ///< Adam, AdamW.
  double beta2 = 0.999;   ///< Adam, AdamW; of RMSprop: how long it remembers.
  double epsilon = 1e-8;
  /// Of weights, not of biases and norms. AdamW: apart from the gradient.
  double weight_decay = 0;
  double clip_norm = 0;  ///< The gradient is scaled down to this length; 0: never.
  Guard guard = Guard::kError;
  std::size_t n_epochs = 100;
  std::size_t batch_size = 32;
  bool shuffle = true;  ///< A new order in each epoch.
  std::uint64_t seed = 1;
  /// A part of the examples, drawn by the seed, that is not trained on; in [0, 1). Not with
  /// explicit validation examples.
  double validation_share = 0;
  EarlyStopping early_stopping = {};
  /// [n_outputs]. Cross-entropy: of each class, the mean is weighted. Binary: of positives.
  std::vector<float> class_weights = {};
  std::size_t n_threads = 1;  ///< With the caller; 0 = the processors this process may use.
  std::string instruction_set = {};
  std::stop_token stop = {};  ///< Looked at in every step.
  /// Called after each epoch; false ends training there.
  std::function<bool(const EpochReport&)> on_epoch = {};
  /// A figure of the network after each epoch.
  std::function<double(const Network&)> metric = {};
};

enum class EndReason : std::uint8_t { kAllEpochs, kNoBetter, kCallback };

struct TrainReport {
  EndReason reason = EndReason::kAllEpochs;
  std::vector<EpochReport> epochs;  ///< Of a resumed run: those before, too.
  std::size_t best_epoch = 0;       ///< 1-based; 0: none was finished.
};

/// Trains one network on one set of examples; both must outlive it.
class Trainer {
 public:
  static Result<Trainer> Create(Network& network, const Examples& examples, TrainOptions options,
                                const Examples& validation = {});
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;
  ~Trainer();

  /// Until the end. kCancelled when stopped: Run again goes on, in this object or in one that
  /// resumed from Checkpoint. kInvalidArgument when a gradient is not finite (Guard::kError).
  Result<TrainReport> Run();

  /// All that changes: network, optimiser, place in the epoch, best network, figures. To be called
  /// between runs or from on_epoch.
  std::string Checkpoint() const;
  /// Goes on where Checkpoint was called, bit by bit. kCorruptData; kInvalidArgument when the
  /// network's shape, the examples or an option that matters differ.
  Status Resume(std::span<const std::byte> checkpoint);

  /// The loss of the batch of all examples and its gradient, in the order of Network::Parameters;
  /// no dropout. For checks and for optimisers of the caller's.
  Result<double> LossAndGradient(std::span<float> gradient);

 private:
  struct State;
  explicit Trainer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct Evaluation {
  std::size_t n_rows = 0;
  double loss = 0;
  std::optional<double> accuracy;  ///< As in EpochReport.
};
/// Class weights count in the loss.
Result<Evaluation> Evaluate(const Network& network, const Examples& examples, Loss loss,
                            std::span<const float> class_weights = {},
                            const RunOptions& options = {});

/// How much each parameter mattered so far: a running mean of squared gradients, and the parameters
/// at that time. Elastic weight consolidation with a diagonal Fisher matrix.
///
/// Source  Kirkpatrick et al. 2017, "Overcoming catastrophic forgetting in neural networks";
///         Chaudhry et al. 2018, "Riemannian walk" (the running mean).
class DiagonalFisher {
 public:
  /// decay in (0, 1): what remains of the old mean after an observation.
  static Result<DiagonalFisher> Create(std::size_t n_parameters, float decay);

  std::span<const float> importance() const { return importance_; }
  std::span<const float> anchor() const { return anchor_; }

  /// importance = decay * importance + (1 - decay) * gradient^2
  Status Observe(std::span<const float> gradient);
  Status SetAnchor(std::span<const float> parameters);
  /// gradient += strength * importance * (parameters - anchor)
  Status AddPenalty(std::span<const float> parameters, float strength,
                    std::span<float> gradient) const;
  /// step *= 1 - importance / largest importance; unchanged while nothing was observed.
  Status Protect(std::span<float> step) const;

 private:
  DiagonalFisher(std::size_t n, float decay) : importance_(n), anchor_(n), decay_(decay) {}
  std::vector<float> importance_, anchor_;
  float decay_;
};

struct RouterOptions {
  float rate = 1e-3f;
  float balance = 0.01f;  ///< Of (1/K) sum of (p - 1/K)^2, against the collapse to one choice.
  float z = 0.001f;       ///< Of (log sum of e^logit)^2, against growing logits.
  std::uint64_t seed = 1;
  /// Of the penalty for leaving the anchor; 0: none. With it, gradients are observed by a Fisher
  /// of this decay.
  float ewc_strength = 0;
  float fisher_decay = 0.95f;
  std::string instruction_set = {};
};

/// Trains a network whose last, linear layer gives the logits of K choices, from what is said about
/// its choices while it is used: plain gradient steps on one context at a time.
///
/// Source  Williams 1992 (REINFORCE); Kool et al. 2019, "Buy 4 REINFORCE samples, get a baseline
/// for
///         free!"; Shazeer et al. 2017 (balance); Zoph et al. 2022, "ST-MoE" (z-loss).
class RouterTrainer {
 public:
  /// The network must outlive it.
  static Result<RouterTrainer> Create(Network& gate, const RouterOptions& options);
  RouterTrainer(RouterTrainer&&) noexcept;
  RouterTrainer& operator=(RouterTrainer&&) noexcept;
  ~RouterTrainer();

  /// One step: reward > 0 makes `choice` likelier for `context`, < 0 less likely. Returns
  /// -reward * log p(choice) before it.
  Result<float> Feedback(std::span<const float> context, std::size_t choice, float reward);

  /// One step from n_samples subsets of `subset_size` choices, drawn by their probabilities without
  /// repetition; the reward is 1 for those with `preferred`, else -1, against the mean reward of
  /// the other samples. Returns the mean reward. Says only what is good: give Feedback about what
  /// is bad, too.
  Result<float> Sample(std::span<const float> context, std::size_t preferred,
                       std::size_t subset_size, std::size_t n_samples);

  /// Remembers the present parameters as those to stay near to; before, there is no penalty.
  void SetAnchor();
  /// Absent without ewc_strength.
  const DiagonalFisher* fisher() const;

 private:
  struct State;
  explicit RouterTrainer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lattice::fann
