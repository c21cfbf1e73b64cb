#include "apps/command_fann.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/fann_table.h"
#include "apps/fann_train.h"
#include "apps/json_text.h"
#include "apps/number_flags.h"
#include "apps/number_table.h"
#include "lattice/fann.h"
#include "lattice/fann_training.h"

namespace lattice::apps {
namespace {

struct Arguments {
  std::string network, table;
  std::size_t n_threads = 0;
  bool json = false;
};

bool IsClassifier(const fann::Network& network) {
  return network.layer(network.n_layers() - 1).activation == fann::Activation::kSoftmax;
}

fann::RunOptions RunOptionsOf(const Arguments& a, const AppContext& context) {
  return {.n_threads = a.n_threads, .instruction_set = context.instruction_set};
}

Status Eval(const Arguments& a, const AppContext& context) {
  LATTICE_TRY(const fann::Network network, fann::LoadNetwork(a.network));
  LATTICE_TRY(const vectors::CsvMatrix table, ReadNumberTable(a.table));
  const bool classifies = IsClassifier(network);
  auto examples = classifies ? WithClasses(table) : WithTargets(table, network.n_outputs());
  if (!examples) return std::move(examples).error().Within(a.table);
  const auto loss = classifies ? fann::Loss::kCrossEntropy : fann::Loss::kMeanSquared;
  LATTICE_TRY(const auto result,
              fann::Evaluate(network, examples->View(), loss, {}, RunOptionsOf(a, context)));
  if (a.json) {
    JsonObject out;
    out.Count("rows", result.n_rows).Number("loss", result.loss);
    if (result.accuracy) out.Number("accuracy", *result.accuracy);
    return Print(out.Take() + "\n");
  }
  std::string out = "rows      " + std::to_string(result.n_rows) + "\nloss      ";
  AppendJson(static_cast<float>(result.loss), out);
  if (result.accuracy) {
    out += "\naccuracy  ";
    AppendJson(static_cast<float>(*result.accuracy), out);
  }
  return Print(out + "\n");
}

// "0.1,0.9", or an object with the likeliest class of a classifier.
std::string OutputLine(std::span<const float> outputs, bool classifies, bool json) {
  std::string values;
  AppendJson(outputs, values);
  if (!json) return values.substr(1, values.size() - 2) + "\n";
  JsonObject out;
  if (classifies) {
    const auto best = std::ranges::max_element(outputs) - outputs.begin();
    out.Count("class", static_cast<std::uint64_t>(best));
  }
  return out.Json("outputs", values).Take() + "\n";
}

Status Predict(const Arguments& a, const AppContext& context) {
  LATTICE_TRY(const fann::Network network, fann::LoadNetwork(a.network));
  LATTICE_TRY(const vectors::CsvMatrix table, ReadNumberTable(a.table));
  if (table.dims != network.n_inputs()) {
    return Error{ErrorCode::kInvalidArgument, a.table + ": " + std::to_string(table.dims) +
                                                  " columns, but the network has " +
                                                  std::to_string(network.n_inputs()) + " inputs"};
  }
  const std::size_t n_outputs = network.n_outputs();
  std::vector<float> outputs(table.n_rows * n_outputs);
  LATTICE_TRY(auto runner, fann::Runner::Create(network, RunOptionsOf(a, context)));
  LATTICE_TRY_VOID(runner.Run(table.values, outputs));
  std::string out;
  for (std::size_t r = 0; r < table.n_rows; ++r) {
    const auto row = std::span<const float>(outputs).subspan(r * n_outputs, n_outputs);
    out += OutputLine(row, IsClassifier(network), a.json);
  }
  return Print(out);
}

std::string TextArray(std::span<const std::string> texts) {
  std::vector<std::string> values(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) AppendJson(texts[i], values[i]);
  return JsonArray(values);
}

std::string InfoJson(const fann::Network& network) {
  std::vector<std::string> layers;
  for (std::size_t i = 0; i < network.n_layers(); ++i) {
    const fann::LayerInfo& layer = network.layer(i);
    layers.push_back(JsonObject()
                         .Text("name", layer.name)
                         .Count("inputs", layer.n_inputs)
                         .Count("outputs", layer.n_outputs)
                         .Text("activation", fann::ActivationName(layer.activation))
                         .Flag("layer_norm", layer.layer_norm)
                         .Number("dropout", layer.dropout)
                         .Take());
  }
  return JsonObject()
      .Text("name", network.name())
      .Text("network", network.Summary())
      .Count("parameters", network.n_parameters())
      .Json("layers", JsonArray(layers))
      .Json("input_names", TextArray(network.input_names()))
      .Json("output_names", TextArray(network.output_names()))
      .Take();
}

Status Info(const Arguments& a) {
  LATTICE_TRY(const fann::Network network, fann::LoadNetwork(a.network));
  if (a.json) return Print(InfoJson(network) + "\n");
  std::string out = "layers      " + network.Summary() + "\nparameters  " +
                    std::to_string(network.n_parameters()) + "\n";
  const auto add = [&](std::string_view title, const std::vector<std::string>& names) {
    if (names.empty()) return;
    out += title;
    for (const std::string& name : names) out += "  " + name;
    out += "\n";
  };
  add("inputs    ", network.input_names());
  add("outputs   ", network.output_names());
  return Print(out);
}

}  // namespace

Action DeclareFann(CLI::App& arguments, const AppContext& context) {
  const auto parsed = std::make_shared<Arguments>();
  CLI::App* const train = arguments.add_subcommand("train", "Train a network on a table");
  CLI::App* const eval = arguments.add_subcommand("eval", "Loss and accuracy on a table");
  CLI::App* const predict = arguments.add_subcommand("predict", "Outputs, a line for each row");
  CLI::App* const info = arguments.add_subcommand("info", "Layers and names of a network");
  const Action run_train = DeclareFannTrain(*train, context);
  for (CLI::App* const other : {eval, predict, info}) {
    other->add_option("NETWORK", parsed->network, "A file of `train`, or of the first Lattice")
        ->required();
    other->add_flag("--json", parsed->json, "Print JSON");
  }
  eval->add_option("TABLE", parsed->table, "Numbers, as `train` takes them")->required();
  predict->add_option("TABLE", parsed->table, "Inputs only: comma-separated or .npy")->required();
  for (CLI::App* const working : {eval, predict}) AddThreads(*working, parsed->n_threads);
  for (CLI::App* const each : {train, eval, predict, info}) each->fallthrough();
  arguments.require_subcommand(1);
  arguments.footer(
      "\nExamples:\n  lattice fann train iris.csv -o iris.fann --layers 16\n"
      "  lattice fann eval iris.fann held-out.csv\n"
      "  lattice fann predict iris.fann flowers.csv --json");
  return [=, &context] {
    if (train->parsed()) return run_train();
    if (eval->parsed()) return Eval(*parsed, context);
    if (predict->parsed()) return Predict(*parsed, context);
    return Info(*parsed);
  };
}

}  // namespace lattice::apps
