#include <algorithm>
#include <string>
#include <utility>

#include "base/sha256.h"
#include "fann/bytes.h"
#include "fann/trainer_state.h"

namespace lattice::fann {
namespace {

constexpr std::string_view kMagic = "FANT";
constexpr std::size_t kDigestBytes = sizeof(Sha256Digest);
constexpr std::size_t kLeastReportBytes = 8;

// Parameters or memories, without padding.
void WriteAll(const NetworkData& data, std::span<const float> padded, ByteWriter& out) {
  std::vector<float> plain(data.n_parameters);
  GatherParameters(data, padded, plain);
  out.Array<float>(plain);
}

Result<std::vector<float>> ReadAll(const NetworkData& data, ByteReader& in, std::string_view what) {
  if (data.n_parameters > in.left() / sizeof(float)) return in.Bad(what, "cut short");
  std::vector<float> plain(data.n_parameters);
  LATTICE_TRY_VOID(in.Array(std::span<float>(plain), what));
  if (!AllFinite(plain)) return in.Bad(what, "a number is not finite");
  std::vector<float> padded(data.values().size(), 0.0f);
  ScatterParameters(data, plain, padded);
  return padded;
}

void WriteOptional(const std::optional<double>& value, ByteWriter& out) {
  out.Number(static_cast<std::uint8_t>(value ? 1 : 0));
  if (value) out.Number(*value);
}

Status ReadOptional(ByteReader& in, std::optional<double>& value) {
  LATTICE_TRY(const auto is_there, in.Number<std::uint8_t>("figure"));
  if (is_there > 1) return in.Bad("figure", "neither there nor absent");
  if (is_there == 0) return Ok();
  LATTICE_TRY(value, in.Number<double>("figure"));
  return Ok();
}

void WriteReport(const EpochReport& report, ByteWriter& out) {
  out.Number(static_cast<std::uint64_t>(report.epoch));
  out.Number(report.n_steps);
  out.Number(report.rate);
  out.Number(report.loss);
  WriteOptional(report.accuracy, out);
  WriteOptional(report.validation_loss, out);
  WriteOptional(report.validation_accuracy, out);
  WriteOptional(report.metric, out);
  out.Number(report.n_sanitised);
  out.Number(report.n_skipped);
  out.Number(static_cast<std::uint8_t>(report.is_best ? 1 : 0));
}

Result<EpochReport> ReadReport(ByteReader& in) {
  EpochReport report;
  LATTICE_TRY(report.epoch, in.Number<std::uint64_t>("epoch"));
  LATTICE_TRY(report.n_steps, in.Number<std::uint64_t>("steps"));
  LATTICE_TRY(report.rate, in.Number<double>("rate"));
  LATTICE_TRY(report.loss, in.Number<double>("loss"));
  LATTICE_TRY_VOID(ReadOptional(in, report.accuracy));
  LATTICE_TRY_VOID(ReadOptional(in, report.validation_loss));
  LATTICE_TRY_VOID(ReadOptional(in, report.validation_accuracy));
  LATTICE_TRY_VOID(ReadOptional(in, report.metric));
  LATTICE_TRY(report.n_sanitised, in.Number<std::uint64_t>("batches"));
  LATTICE_TRY(report.n_skipped, in.Number<std::uint64_t>("batches"));
  LATTICE_TRY(const auto is_best, in.Number<std::uint8_t>("best"));
  report.is_best = is_best != 0;
  return report;
}

// The numbers of Progress; its lists follow.
template <typename P, typename F>
Status ForEachNumber(P& p, F f) {
  for (auto* x :
       {&p.epoch, &p.next, &p.step, &p.n_sanitised, &p.n_skipped, &p.best_epoch, &p.n_worse}) {
    LATTICE_TRY_VOID(f(*x));
  }
  for (auto* x : {&p.sums.loss, &p.sums.weight, &p.sums.right, &p.sums.judged, &p.best}) {
    LATTICE_TRY_VOID(f(*x));
  }
  return Ok();
}

void AddExamples(const Examples& examples, Sha256& hash) {
  ByteWriter sizes;
  for (const std::size_t n :
       {examples.inputs.size(), examples.targets.size(), examples.labels.size()}) {
    sizes.Number(static_cast<std::uint64_t>(n));
  }
  hash.Update(sizes.bytes());
  hash.Update(std::as_bytes(examples.inputs));
  hash.Update(std::as_bytes(examples.targets));
  hash.Update(std::as_bytes(examples.labels));
}

}  // namespace

// Of everything that the course of training depends on. The number of epochs is part of it only
// where the schedule looks at it, so that others may be prolonged.
std::string Trainer::State::Fingerprint() const {
  ByteWriter out;
  for (const LayerInfo& layer : network.data().layers) {
    out.Number(static_cast<std::uint64_t>(layer.n_inputs));
    out.Number(static_cast<std::uint64_t>(layer.n_outputs));
    out.Number(static_cast<std::uint8_t>(layer.activation));
    out.Number(static_cast<std::uint8_t>(layer.layer_norm ? 1 : 0));
    out.Number(layer.slope);
    out.Number(layer.dropout);
  }
  const TrainOptions& o = options;
  const Schedule& s = o.schedule;
  const bool looks_ahead = s.kind == ScheduleKind::kCosine || s.kind == ScheduleKind::kOneCycle;
  for (const auto x :
       {static_cast<std::uint64_t>(o.loss), static_cast<std::uint64_t>(o.optimiser),
        static_cast<std::uint64_t>(o.guard), static_cast<std::uint64_t>(s.kind),
        static_cast<std::uint64_t>(s.warmup_steps),
        static_cast<std::uint64_t>(o.early_stopping.watched),
        static_cast<std::uint64_t>(o.early_stopping.patience),
        static_cast<std::uint64_t>(o.early_stopping.restore_best ? 1 : 0),
        static_cast<std::uint64_t>(o.batch_size), static_cast<std::uint64_t>(o.shuffle ? 1 : 0),
        o.seed, static_cast<std::uint64_t>(looks_ahead ? o.n_epochs : 0)}) {
    out.Number(x);
  }
  for (const double x :
       {o.rate, s.factor, s.period, s.floor, s.rise, o.momentum, o.beta1, o.beta2, o.epsilon,
        o.weight_decay, o.clip_norm, o.validation_share, o.early_stopping.min_delta}) {
    out.Number(x);
  }
  out.Array<float>(o.class_weights);
  Sha256 hash;
  hash.Update(out.bytes());
  AddExamples(examples, hash);
  AddExamples(validation, hash);
  const Sha256Digest digest = hash.Finish();
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::string Trainer::Checkpoint() const {
  const State& s = *state_;
  const NetworkData& data = s.network.data();
  ByteWriter out;
  out.Text(kMagic);
  out.Number(std::uint32_t{1});
  out.Text(s.Fingerprint());
  WriteAll(data, data.values(), out);
  out.Number(s.updater.n_steps);
  for (const AlignedBuffer& memory : s.updater.memories) WriteAll(data, memory.As<float>(), out);
  const auto wrote = ForEachNumber(s.progress, [&](const auto& x) {
    out.Number(x);
    return Ok();
  });
  LATTICE_CHECK(wrote.has_value());
  out.Number(static_cast<std::uint64_t>(s.progress.epochs.size()));
  for (const EpochReport& report : s.progress.epochs) WriteReport(report, out);
  out.Number(static_cast<std::uint8_t>(s.progress.best_parameters.empty() ? 0 : 1));
  if (!s.progress.best_parameters.empty()) WriteAll(data, s.progress.best_parameters, out);
  Sha256 hash;
  hash.Update(out.bytes());
  const Sha256Digest digest = hash.Finish();
  out.Array(std::span<const std::byte>(digest));
  return std::move(out.bytes());
}

Status Trainer::Resume(std::span<const std::byte> checkpoint) {
  State& s = *state_;
  NetworkData& data = s.network.data();
  if (checkpoint.size() < kMagic.size() + kDigestBytes) {
    return Error{ErrorCode::kCorruptData, "the checkpoint is cut short"};
  }
  const auto body = checkpoint.first(checkpoint.size() - kDigestBytes);
  ByteReader in(body);
  LATTICE_TRY(const auto magic, in.Bytes(kMagic.size(), "magic"));
  if (!std::ranges::equal(magic, std::as_bytes(std::span(kMagic)))) {
    return Error{ErrorCode::kCorruptData, "not a checkpoint: it does not start with FANT"};
  }
  LATTICE_TRY(const auto version, in.Number<std::uint32_t>("version"));
  if (version != 1) {
    return Error{ErrorCode::kUnsupported, "version " + std::to_string(version) + " of checkpoints"};
  }
  Sha256 hash;
  hash.Update(body);
  if (!std::ranges::equal(hash.Finish(), checkpoint.last(kDigestBytes))) {
    return Error{ErrorCode::kCorruptData, "the checksum does not match: the checkpoint is damaged"};
  }
  LATTICE_TRY(const auto fingerprint, in.Bytes(kDigestBytes, "fingerprint"));
  const std::string own = s.Fingerprint();
  if (!std::ranges::equal(fingerprint, std::as_bytes(std::span(own)))) {
    return Error{ErrorCode::kInvalidArgument,
                 "the checkpoint is of another network, other examples or other options"};
  }
  LATTICE_TRY(const auto parameters, ReadAll(data, in, "parameters"));
  LATTICE_TRY(const auto n_steps, in.Number<std::uint64_t>("steps"));
  std::vector<std::vector<float>> memories;
  for (std::size_t i = 0; i < s.updater.memories.size(); ++i) {
    LATTICE_TRY(auto memory, ReadAll(data, in, "memory"));
    memories.push_back(std::move(memory));
  }
  Progress progress;
  LATTICE_TRY_VOID(ForEachNumber(progress, [&](auto& x) -> Status {
    LATTICE_TRY(x, in.Number<std::remove_reference_t<decltype(x)>>("progress"));
    return Ok();
  }));
  LATTICE_TRY(const auto n_reports, in.Number<std::uint64_t>("epochs"));
  if (n_reports != progress.epoch || n_reports > in.left() / kLeastReportBytes ||
      progress.next > s.train_rows.size()) {
    return in.Bad("progress", "numbers that do not fit");
  }
  for (std::uint64_t i = 0; i < n_reports; ++i) {
    LATTICE_TRY(auto report, ReadReport(in));
    progress.epochs.push_back(report);
  }
  LATTICE_TRY(const auto has_best, in.Number<std::uint8_t>("best"));
  if (has_best != 0) {
    LATTICE_TRY(progress.best_parameters, ReadAll(data, in, "best parameters"));
  }
  if (in.left() != 0) return in.Bad("end", std::to_string(in.left()) + " bytes too many");
  std::ranges::copy(parameters, data.values().begin());
  s.updater.n_steps = n_steps;
  for (std::size_t i = 0; i < memories.size(); ++i) {
    std::ranges::copy(memories[i], s.updater.memories[i].As<float>().begin());
  }
  s.progress = std::move(progress);
  s.order_epoch = UINT64_MAX;
  return Ok();
}

}  // namespace lattice::fann
