#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "fann/trainer_state.h"
#include "numeric/random.h"

namespace lattice::fann {
namespace {

constexpr std::uint64_t kSplitStream = 0x5711'7000'0000'0000, kOrderStream = 0x0DE2'0000'0000'0000;

Error Bad(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

Status CheckOptions(const TrainOptions& o) {
  const auto positive = [](double x) { return std::isfinite(x) && x > 0; };
  const auto in_unit = [](double x) { return x >= 0 && x < 1; };
  if (!positive(o.rate)) return Bad("the rate must be above 0");
  if (!in_unit(o.momentum) || !in_unit(o.beta1) || !in_unit(o.beta2)) {
    return Bad("momentum, beta1 and beta2 must be at least 0 and less than 1");
  }
  if (!positive(o.epsilon)) return Bad("epsilon must be above 0");
  if (!(o.weight_decay >= 0) || !std::isfinite(o.weight_decay)) {
    return Bad("weight decay must be at least 0");
  }
  if (!(o.clip_norm >= 0) || !std::isfinite(o.clip_norm)) {
    return Bad("the norm to clip at must be at least 0");
  }
  if (o.batch_size == 0 || o.n_epochs == 0) return Bad("a batch and an epoch are needed");
  if (!in_unit(o.validation_share)) {
    return Bad("the share of validation must be at least 0 and less than 1");
  }
  const Schedule& s = o.schedule;
  if (!positive(s.factor) || !positive(s.period) || !(s.floor >= 0 && s.floor <= 1) ||
      !(s.rise > 0 && s.rise < 1)) {
    return Bad("a number of the schedule is outside its range");
  }
  const EarlyStopping& e = o.early_stopping;
  if (!(e.min_delta >= 0) || !std::isfinite(e.min_delta))
    return Bad("min_delta must be at least 0");
  if ((e.watched == Watched::kMetricLow || e.watched == Watched::kMetricHigh) && !o.metric &&
      e.patience > 0) {
    return Bad("early stopping watches a metric that is not given");
  }
  if (e.patience > 0 && e.watched == Watched::kAccuracy && o.loss == Loss::kMeanSquared) {
    return Bad("there is no accuracy with the mean squared error");
  }
  return Ok();
}

std::optional<double> Share(const LossSums& sums) {
  if (sums.judged == 0) return std::nullopt;
  return sums.right / sums.judged;
}
double Mean(const LossSums& sums) { return sums.weight > 0 ? sums.loss / sums.weight : 0; }

bool IsHighBetter(Watched watched) {
  return watched == Watched::kAccuracy || watched == Watched::kMetricHigh;
}

double WatchedValue(const EpochReport& report, Watched watched) {
  switch (watched) {
    case Watched::kLoss:
      return report.validation_loss.value_or(report.loss);
    case Watched::kAccuracy:
      return report.validation_accuracy.value_or(report.accuracy.value_or(0));
    case Watched::kMetricLow:
    case Watched::kMetricHigh:
      return report.metric.value_or(0);
  }
  return 0;
}

}  // namespace

Trainer::State::State(Network& net, const Examples& data, TrainOptions wanted, const Examples& held,
                      const Kernels& found)
    : network(net),
      examples(data),
      validation(held),
      options(std::move(wanted)),
      kernels(found),
      workers(options.n_threads),
      setting{options.loss, options.class_weights, &net.data().layers.back()},
      pass(net.data(), kernels, workers, std::min(options.batch_size, NumberOfRows(net, data))),
      segments(SegmentsOf(net.data())),
      updater(net.data(), options),
      gradient(net.data().parameters.size()) {
  std::ranges::fill(gradient.As<float>(), 0.0f);
  rows_stride = RowStride(net.n_inputs());
  const std::size_t n = NumberOfRows(net, data);
  rows = AlignedBuffer(std::min(options.batch_size, n) * rows_stride * sizeof(float));
  train_rows.resize(n);
  std::iota(train_rows.begin(), train_rows.end(), 0u);
  if (!held.inputs.empty()) {
    held_rows.resize(NumberOfRows(net, held));
    std::iota(held_rows.begin(), held_rows.end(), 0u);
  } else if (options.validation_share > 0) {
    Random(options.seed, kSplitStream).Shuffle(std::span(train_rows));
    const auto n_held = static_cast<std::size_t>(options.validation_share * static_cast<double>(n));
    held_rows.assign(train_rows.end() - static_cast<std::ptrdiff_t>(n_held), train_rows.end());
    train_rows.resize(n - n_held);
    std::ranges::sort(train_rows);
    std::ranges::sort(held_rows);
    validation = examples;
  }
}

Trainer::Trainer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

Result<Trainer> Trainer::Create(Network& network, const Examples& examples, TrainOptions options,
                                const Examples& validation) {
  LATTICE_TRY(const Kernels kernels, FindKernels(options.instruction_set));
  LATTICE_TRY_VOID(CheckOptions(options));
  LATTICE_TRY_VOID(CheckLoss({options.loss, options.class_weights, &network.data().layers.back()}));
  LATTICE_TRY_VOID(CheckExamples(network, examples, options.loss, "examples"));
  if (!validation.inputs.empty()) {
    if (options.validation_share > 0) {
      return Bad("validation examples and a share of the others are both given");
    }
    LATTICE_TRY_VOID(CheckExamples(network, validation, options.loss, "validation"));
  }
  return Trainer(
      std::make_unique<State>(network, examples, std::move(options), validation, kernels));
}

std::uint64_t Trainer::State::StepsPerEpoch() const {
  return (train_rows.size() + options.batch_size - 1) / options.batch_size;
}

void Trainer::State::PrepareEpoch() {
  if (order_epoch == progress.epoch) return;
  order = train_rows;
  if (options.shuffle)
    Random(options.seed, kOrderStream + progress.epoch).Shuffle(std::span(order));
  order_epoch = progress.epoch;
}

const float* Trainer::State::Gather(std::span<const std::uint32_t> which) {
  const std::size_t n_inputs = network.n_inputs();
  float* const to = rows.As<float>().data();
  for (std::size_t r = 0; r < which.size(); ++r) {
    std::copy_n(examples.inputs.data() + which[r] * n_inputs, n_inputs, to + r * rows_stride);
  }
  return to;
}

Status Trainer::State::TrainBatch() {
  const std::size_t n = std::min<std::size_t>(options.batch_size, order.size() - progress.next);
  const auto which = std::span<const std::uint32_t>(order).subspan(progress.next, n);
  const DropoutKey key = {options.seed, progress.step};
  pass.Forward(Gather(which), rows_stride, n, &key);
  const LossSums sums = ComputeLoss(setting, examples, which, kernels, pass, /*with_delta=*/true);
  const auto all = gradient.As<float>();
  pass.Backward(all.data());
  double norm = GradientNorm(all, segments, kernels, workers);
  bool applies = true;
  if (!std::isfinite(norm) || !std::isfinite(sums.loss)) {
    if (options.guard == Guard::kError) {
      return Bad("epoch " + std::to_string(progress.epoch + 1) + ", batch " +
                 std::to_string(progress.next / options.batch_size + 1) +
                 ": the gradient is not finite; try a smaller rate or clip_norm");
    }
    applies = options.guard == Guard::kSanitise;
    if (applies) {
      for (float& g : all) g = std::isfinite(g) ? g : 0.0f;
      norm = GradientNorm(all, segments, kernels, workers);
      ++progress.n_sanitised;
    } else {
      ++progress.n_skipped;
    }
  }
  if (applies) {
    const double rate =
        options.rate * ScheduleFactor(options.schedule, progress.step,
                                      StepsPerEpoch() * options.n_epochs, StepsPerEpoch());
    const bool clips = options.clip_norm > 0 && norm > options.clip_norm;
    updater.Step(network.data().values(), all, rate, clips ? options.clip_norm / norm : 1, segments,
                 kernels, workers);
    if (std::isfinite(sums.loss)) progress.sums.Add(sums);
  }
  ++progress.step;
  progress.next += n;
  return Ok();
}

LossSums Trainer::State::Validate() {
  LossSums sums;
  const std::size_t most = std::min(options.batch_size, NumberOfRows(network, examples));
  const std::size_t n_inputs = network.n_inputs();
  float* const to = rows.As<float>().data();
  for (std::size_t begin = 0; begin < held_rows.size(); begin += most) {
    const std::size_t n = std::min(most, held_rows.size() - begin);
    const auto which = std::span<const std::uint32_t>(held_rows).subspan(begin, n);
    for (std::size_t r = 0; r < n; ++r) {
      std::copy_n(validation.inputs.data() + which[r] * n_inputs, n_inputs, to + r * rows_stride);
    }
    pass.Forward(to, rows_stride, n, nullptr);
    sums.Add(ComputeLoss(setting, validation, which, kernels, pass, /*with_delta=*/false));
  }
  return sums;
}

Result<bool> Trainer::State::FinishEpoch() {
  EpochReport report;
  report.epoch = progress.epoch + 1;
  report.n_steps = progress.step;
  report.rate = options.rate * ScheduleFactor(options.schedule, progress.step - 1,
                                              StepsPerEpoch() * options.n_epochs, StepsPerEpoch());
  report.loss = Mean(progress.sums);
  report.accuracy = Share(progress.sums);
  report.n_sanitised = progress.n_sanitised;
  report.n_skipped = progress.n_skipped;
  if (!held_rows.empty()) {
    const LossSums held = Validate();
    report.validation_loss = Mean(held);
    report.validation_accuracy = Share(held);
  }
  if (options.metric) report.metric = options.metric(network);
  const EarlyStopping& stopping = options.early_stopping;
  const double value = WatchedValue(report, stopping.watched);
  const double gain =
      IsHighBetter(stopping.watched) ? value - progress.best : progress.best - value;
  // The first epoch is the best so far; a NaN never is after it.
  report.is_best = progress.best_epoch == 0 || gain > stopping.min_delta ||
                   (std::isnan(progress.best) && !std::isnan(value));
  ++progress.epoch;
  progress.next = 0;
  progress.sums = {};
  if (report.is_best) {
    progress.best = value;
    progress.best_epoch = report.epoch;
    progress.n_worse = 0;
    if (Watches() && stopping.restore_best) {
      const auto values = std::as_const(network).data().values();
      progress.best_parameters.assign(values.begin(), values.end());
    }
  } else {
    ++progress.n_worse;
  }
  progress.epochs.push_back(report);
  if (options.on_epoch && !options.on_epoch(report)) {
    was_ended = true;
    return false;
  }
  return !IsDone();
}

bool Trainer::State::IsDone() const {
  return progress.epoch >= options.n_epochs ||
         (Watches() && progress.n_worse >= options.early_stopping.patience);
}

EndReason Trainer::State::Reason() const {
  if (was_ended) return EndReason::kCallback;
  return progress.epoch >= options.n_epochs ? EndReason::kAllEpochs : EndReason::kNoBetter;
}

TrainReport Trainer::State::Finish() {
  if (!progress.best_parameters.empty()) {
    std::ranges::copy(progress.best_parameters, network.data().values().begin());
  }
  return {Reason(), progress.epochs, progress.best_epoch};
}

Result<TrainReport> Trainer::Run() {
  State& s = *state_;
  s.was_ended = false;
  bool goes_on = !s.IsDone();
  while (goes_on) {
    s.PrepareEpoch();
    while (s.progress.next < s.order.size()) {
      if (s.options.stop.stop_requested()) {
        return Error{ErrorCode::kCancelled,
                     "training was stopped in epoch " + std::to_string(s.progress.epoch + 1)};
      }
      LATTICE_TRY_VOID(s.TrainBatch());
    }
    LATTICE_TRY(goes_on, s.FinishEpoch());
  }
  return s.Finish();
}

Result<double> Trainer::LossAndGradient(std::span<float> gradient) {
  State& s = *state_;
  if (gradient.size() != s.network.n_parameters()) {
    return Bad("the network has " + std::to_string(s.network.n_parameters()) + " parameters, not " +
               std::to_string(gradient.size()));
  }
  const std::size_t n = NumberOfRows(s.network, s.examples);
  std::vector<std::uint32_t> all(n);
  std::iota(all.begin(), all.end(), 0u);
  BatchPass pass(s.network.data(), s.kernels, s.workers, n);
  pass.Forward(s.examples.inputs.data(), s.network.n_inputs(), n, nullptr);
  const LossSums sums = ComputeLoss(s.setting, s.examples, all, s.kernels, pass, true);
  AlignedBuffer padded(s.network.data().parameters.size());
  std::ranges::fill(padded.As<float>(), 0.0f);
  pass.Backward(padded.As<float>().data());
  GatherParameters(s.network.data(), padded.As<float>(), gradient);
  return Mean(sums);
}

Result<Evaluation> Evaluate(const Network& network, const Examples& examples, Loss loss,
                            std::span<const float> class_weights, const RunOptions& options) {
  LATTICE_TRY(const Kernels kernels, FindKernels(options.instruction_set));
  const LossSetting setting = {loss, class_weights, &network.data().layers.back()};
  LATTICE_TRY_VOID(CheckLoss(setting));
  LATTICE_TRY_VOID(CheckExamples(network, examples, loss, "examples"));
  constexpr std::size_t kRows = 256;
  const std::size_t n = NumberOfRows(network, examples);
  Workers workers(options.n_threads);
  BatchPass pass(network.data(), kernels, workers, std::min(n, kRows));
  LossSums sums;
  std::vector<std::uint32_t> which;
  for (std::size_t begin = 0; begin < n; begin += kRows) {
    which.resize(std::min(kRows, n - begin));
    std::iota(which.begin(), which.end(), static_cast<std::uint32_t>(begin));
    pass.Forward(examples.inputs.data() + begin * network.n_inputs(), network.n_inputs(),
                 which.size(), nullptr);
    sums.Add(ComputeLoss(setting, examples, which, kernels, pass, false));
  }
  return Evaluation{n, Mean(sums), Share(sums)};
}

}  // namespace lattice::fann
