#include "apps/fann_train.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/fann_table.h"
#include "apps/json_text.h"
#include "apps/named_values.h"
#include "apps/number_flags.h"
#include "apps/number_table.h"
#include "base/files.h"
#include "lattice/fann.h"
#include "lattice/fann_training.h"

namespace lattice::apps {
namespace {

Named<fann::Activation> ByName(fann::Activation activation) {
  return {fann::ActivationName(activation), activation};
}
// Those of hidden layers.
const Named<fann::Activation> kActivations[] = {
    ByName(fann::Activation::kLinear),    ByName(fann::Activation::kSigmoid),
    ByName(fann::Activation::kTanh),      ByName(fann::Activation::kRelu),
    ByName(fann::Activation::kLeakyRelu), ByName(fann::Activation::kGelu),
    ByName(fann::Activation::kSilu)};
constexpr Named<fann::Optimiser> kOptimisers[] = {{"sgd", fann::Optimiser::kSgd},
                                                  {"adam", fann::Optimiser::kAdam},
                                                  {"adamw", fann::Optimiser::kAdamW},
                                                  {"rmsprop", fann::Optimiser::kRmsProp}};
constexpr Named<fann::ScheduleKind> kSchedules[] = {
    {"constant", fann::ScheduleKind::kConstant},
    {"step", fann::ScheduleKind::kStep},
    {"exponential", fann::ScheduleKind::kExponential},
    {"cosine", fann::ScheduleKind::kCosine},
    {"one-cycle", fann::ScheduleKind::kOneCycle}};

constexpr std::size_t kMostCheckpointBytes = std::size_t{4} << 30;

struct Arguments {
  std::string table, network, checkpoint;
  std::vector<std::size_t> layers;
  std::string activation = "relu", optimiser = "adam", schedule = "constant";
  bool is_regression = false, layer_norm = false, json = false;
  float dropout = 0;
  double rate = 1e-3, weight_decay = 0, validation = 0;
  std::size_t n_targets = 1, n_epochs = 100, batch_size = 32, patience = 0, n_threads = 0;
  std::size_t version = 2, checkpoint_every = 10;
  std::uint64_t seed = 1;
};

Result<fann::TrainOptions> OptionsOf(const Arguments& a, const AppContext& context) {
  fann::TrainOptions options;
  options.loss = a.is_regression ? fann::Loss::kMeanSquared : fann::Loss::kCrossEntropy;
  LATTICE_TRY(options.optimiser, FindNamed(kOptimisers, "optimiser", a.optimiser));
  LATTICE_TRY(options.schedule.kind, FindNamed(kSchedules, "schedule", a.schedule));
  options.rate = a.rate;
  options.weight_decay = a.weight_decay;
  options.n_epochs = a.n_epochs;
  options.batch_size = a.batch_size;
  options.seed = a.seed;
  options.validation_share = a.validation;
  options.early_stopping.patience = a.patience;
  options.n_threads = a.n_threads;
  options.instruction_set = context.instruction_set;
  options.stop = context.stop;
  return options;
}

Result<fann::Network> Build(const Arguments& a, const ExampleTable& examples,
                            const std::vector<std::string>& names) {
  LATTICE_TRY(const auto activation, FindNamed(kActivations, "activation", a.activation));
  fann::NetworkBuilder builder(examples.n_inputs);
  for (const std::size_t n : a.layers) {
    builder.Layer(n, activation, {.layer_norm = a.layer_norm, .dropout = a.dropout});
  }
  if (a.is_regression) {
    builder.Layer(a.n_targets, fann::Activation::kLinear);
  } else {
    builder.Layer(std::max(2u, *std::ranges::max_element(examples.labels) + 1),
                  fann::Activation::kSoftmax);
  }
  LATTICE_TRY(fann::Network network, builder.Build(a.seed));
  if (!names.empty()) {
    const auto split = names.begin() + static_cast<std::ptrdiff_t>(examples.n_inputs);
    std::vector<std::string> outputs;
    if (a.is_regression) outputs.assign(split, names.end());
    LATTICE_TRY_VOID(network.SetNames({}, {names.begin(), split}, std::move(outputs)));
  }
  return network;
}

std::string Figure(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return text;
}

std::string EpochText(const fann::EpochReport& e) {
  std::string out = "loss " + Figure(e.loss);
  if (e.accuracy) out += ", accuracy " + Figure(*e.accuracy);
  if (e.validation_loss) out += "; held out: loss " + Figure(*e.validation_loss);
  if (e.validation_accuracy) out += ", accuracy " + Figure(*e.validation_accuracy);
  return out;
}

std::string EpochJson(const fann::EpochReport& e) {
  JsonObject out;
  out.Count("epoch", e.epoch).Number("rate", e.rate).Number("loss", e.loss);
  if (e.accuracy) out.Number("accuracy", *e.accuracy);
  if (e.validation_loss) out.Number("validation_loss", *e.validation_loss);
  if (e.validation_accuracy) out.Number("validation_accuracy", *e.validation_accuracy);
  return out.Take();
}

std::string_view ReasonText(fann::EndReason reason) {
  return reason == fann::EndReason::kNoBetter ? "no_better" : "all_epochs";
}

Status Report(const Arguments& a, const fann::Network& network, const fann::TrainReport& report) {
  const fann::EpochReport& last = report.epochs.back();
  if (!a.json) {
    return Print(network.Summary() + ", " + std::to_string(network.n_parameters()) +
                 " parameters\nepoch " + std::to_string(last.epoch) + ": " + EpochText(last) +
                 "\nbest epoch " + std::to_string(report.best_epoch) + "\n");
  }
  std::vector<std::string> epochs;
  for (const fann::EpochReport& epoch : report.epochs) epochs.push_back(EpochJson(epoch));
  return Print(JsonObject()
                   .Text("network", network.Summary())
                   .Count("parameters", network.n_parameters())
                   .Text("end", ReasonText(report.reason))
                   .Count("best_epoch", report.best_epoch)
                   .Json("epochs", JsonArray(epochs))
                   .Take() +
               "\n");
}

Status Resume(fann::Trainer& trainer, const std::string& file) {
  LATTICE_TRY(const std::string saved, ReadFile(file, kMostCheckpointBytes));
  auto resumed = trainer.Resume(std::as_bytes(std::span(saved)));
  if (!resumed) return std::move(resumed).error().Within(file);
  return Ok();
}

// Training with remarks on stderr, about ten of them, and checkpoints on the way.
Result<fann::TrainReport> TrainWithCheckpoints(const Arguments& a, const AppContext& context,
                                               fann::Network& network, const ExampleTable& examples,
                                               fann::TrainOptions options) {
  std::optional<fann::Trainer> trainer;
  std::optional<Error> failed;
  const auto save = [&]() -> Status {
    if (a.checkpoint.empty()) return Ok();
    return WriteFileAtomically(a.checkpoint, trainer->Checkpoint());
  };
  const LogSink log = context.Log();
  options.on_epoch = [&](const fann::EpochReport& epoch) {
    if (log && (epoch.epoch * 10 / a.n_epochs != (epoch.epoch - 1) * 10 / a.n_epochs)) {
      log(LogLevel::kInfo, "epoch " + std::to_string(epoch.epoch) + " of " +
                               std::to_string(a.n_epochs) + ": " + EpochText(epoch));
    }
    if (epoch.epoch % a.checkpoint_every != 0) return true;
    if (auto saved = save(); !saved) failed = std::move(saved).error();
    return !failed.has_value();
  };
  LATTICE_TRY(trainer, fann::Trainer::Create(network, examples.View(), options));
  if (!a.checkpoint.empty() && std::filesystem::exists(a.checkpoint)) {
    LATTICE_TRY_VOID(Resume(*trainer, a.checkpoint));
  }
  auto report = trainer->Run();
  if (failed) return *std::move(failed);
  const bool was_stopped = !report && report.error().code == ErrorCode::kCancelled;
  if (report || was_stopped) LATTICE_TRY_VOID(save());
  if (was_stopped && !a.checkpoint.empty()) {
    return Error{ErrorCode::kCancelled,
                 report.error().message + "; the same command goes on from " + a.checkpoint};
  }
  return report;
}

Status Train(const Arguments& a, const AppContext& context) {
  LATTICE_TRY(const vectors::CsvMatrix table, ReadNumberTable(a.table));
  auto examples = a.is_regression ? WithTargets(table, a.n_targets) : WithClasses(table);
  if (!examples) return std::move(examples).error().Within(a.table);
  LATTICE_TRY(const fann::TrainOptions options, OptionsOf(a, context));
  LATTICE_TRY(fann::Network network, Build(a, *examples, table.names));
  const auto version = a.version == 1 ? fann::FileVersion::kFirst : fann::FileVersion::kSecond;
  // What the file cannot hold is said before hours of training.
  LATTICE_TRY_VOID(fann::Serialise(network, version));
  LATTICE_TRY(const auto report, TrainWithCheckpoints(a, context, network, *examples, options));
  LATTICE_TRY_VOID(fann::SaveNetwork(network, a.network, version));
  return Report(a, network, report);
}

}  // namespace

Action DeclareFannTrain(CLI::App& train, const AppContext& context) {
  const auto parsed = std::make_shared<Arguments>();
  Arguments& a = *parsed;
  train
      .add_option("TABLE", a.table,
                  "Numbers: comma-separated or .npy, the class in the last column")
      ->required();
  train.add_option("-o,--output", a.network, "Where the network goes")
      ->required()
      ->type_name("FILE");
  AddCounts(train, "--layers", a.layers, "Units of the hidden layers (none)", {.least = 1});
  train.add_option("--activation", a.activation, "Of hidden layers (relu)")
      ->check(CLI::IsMember(NamesOf(kActivations)));
  train.add_flag("--layer-norm", a.layer_norm, "Normalise the sums of hidden layers");
  AddDecimal(train, "--dropout", a.dropout, "Of hidden layers (0)", {0.0f, 0.99f});
  CLI::Option* const regression =
      train.add_flag("--regression", a.is_regression, "The last columns are numbers, not classes");
  AddCount(train, "--targets", a.n_targets, "How many of them (1)", {.least = 1})
      ->needs(regression);
  AddCount(train, "--epochs", a.n_epochs, "The most epochs (100)", {.least = 1});
  AddCount(train, "--batch-size", a.batch_size, "Rows of a step (32)", {.least = 1});
  train.add_option("--optimiser", a.optimiser, "How steps are made (adam)")
      ->check(CLI::IsMember(NamesOf(kOptimisers)));
  AddDecimal(train, "--rate", a.rate, "Learning rate (0.001)", {0.0f, 100.0f, true});
  train.add_option("--schedule", a.schedule, "How the rate changes (constant)")
      ->check(CLI::IsMember(NamesOf(kSchedules)));
  AddDecimal(train, "--weight-decay", a.weight_decay, "Of weights (0)", {0.0f, 100.0f});
  AddDecimal(train, "--validation", a.validation, "Share of the rows that are held out (0)",
             {0.0f, 0.9f});
  AddCount(train, "--patience", a.patience,
           "End after so many epochs without a better loss and keep the best (never)");
  AddCount(train, "--seed", a.seed, "Of the first weights and the order of rows (1)");
  CLI::Option* const checkpoint =
      train
          .add_option("--checkpoint", a.checkpoint,
                      "Go on from this file if it is there; kept up to date")
          ->type_name("FILE");
  AddCount(train, "--checkpoint-every", a.checkpoint_every, "Epochs (10)", {.least = 1})
      ->needs(checkpoint);
  AddCount(train, "--file-version", a.version, "1: files of the first Lattice (2)", {1, 2});
  AddThreads(train, a.n_threads);
  train.add_flag("--json", a.json, "Print JSON: figures of every epoch");
  train.footer(
      "\nThe result depends on table, flags and seed alone, not on threads or on being stopped.\n"
      "Numbers of about -1 to 1 train best.\n\n"
      "Examples:\n  lattice fann train iris.csv -o iris.fann --layers 16 --validation 0.2 "
      "--patience 20\n"
      "  lattice fann train prices.csv -o prices.fann --layers 64,64 --regression "
      "--checkpoint prices.part");
  return [parsed, &context] { return Train(*parsed, context); };
}

}  // namespace lattice::apps
