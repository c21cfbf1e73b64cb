#include "apps/command_drift.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/drift_watch.h"
#include "apps/embedding_flags.h"
#include "apps/json_text.h"
#include "apps/number_flags.h"
#include "apps/vector_input.h"
#include "base/files.h"
#include "lattice/drift.h"

namespace lattice::apps {
namespace {

constexpr std::size_t kMostStateBytes = std::size_t{4} << 30;

struct Arguments {
  EmbeddingFlags embedding;
  std::string first, second, state;
  bool npy = false, json = false, watch = false, euclidean = false;
  transport::DriftOptions report;
  transport::DetectorOptions detector;
};

transport::Machine MachineOf(const Arguments& arguments, const AppContext& context) {
  transport::Machine machine;
  machine.n_threads = arguments.embedding.threads;
  machine.instruction_set = context.instruction_set;
  machine.stop = context.stop;
  return machine;
}

std::string SetJson(std::size_t n, std::size_t dims,
                    std::span<const transport::Displacement> moves) {
  std::vector<std::string> records;
  for (const transport::Displacement& move : moves) {
    JsonObject record;
    record.Count("index", move.index).Number("displacement", move.cost);
    if (move.is_outlier) record.Flag("outlier", true);
    records.push_back(record.Take());
  }
  return JsonObject()
      .Count("n", n)
      .Count("n_used", moves.size())
      .Count("dims", dims)
      .Json("records", JsonArray(records))
      .Take();
}

std::string AsJson(const transport::DriftReport& r, std::size_t dims) {
  std::vector<std::string> matches;
  for (const auto& match : r.matches) {
    matches.push_back(JsonObject()
                          .Count("source", match.source)
                          .Count("target", match.target)
                          .Number("mass", match.mass)
                          .Take());
  }
  JsonObject out;
  out.Number("divergence", r.divergence).Number("low", r.low).Number("high", r.high);
  out.Number("standard_error", r.standard_error).Number("sampling_error", r.sampling_error);
  out.Number("sampling_bias", r.sampling_bias).Number("distance", r.distance);
  out.Number("p_value", r.p_value).Number("tested", r.tested).Number("chance", r.chance);
  out.Number("epsilon", r.epsilon).Number("marginal_error", r.marginal_error);
  out.Flag("converged", r.converged).Json("matches", JsonArray(matches));
  out.Json("source", SetJson(r.n_source, dims, r.source));
  out.Json("target", SetJson(r.n_target, dims, r.target));
  return out.Take() + "\n";
}

// The records that moved most, outliers marked.
void AppendFarthest(std::string_view title, std::vector<transport::Displacement> records,
                    std::string& out) {
  constexpr std::size_t kListed = 5;
  std::ranges::stable_sort(records, std::ranges::greater{}, &transport::Displacement::cost);
  out += "\nfarthest of " + std::string(title) + '\n';
  for (std::size_t i = 0; i < std::min(kListed, records.size()); ++i) {
    out += "  record " + std::to_string(records[i].index) + "  ";
    AppendJson(static_cast<float>(records[i].cost), out);
    out += records[i].is_outlier ? "  outlier\n" : "\n";
  }
}

std::string ForPeople(const transport::DriftReport& r) {
  std::string out;
  const auto add = [&](std::string_view before, double value) {
    out += before;
    AppendJson(static_cast<float>(value), out);
  };
  add("divergence  ", r.divergence);
  add("  (95 %: ", r.low);
  add(" to ", r.high);
  add(")\ndistance    ", r.distance);
  add("\np-value     ", r.p_value);
  add("  (noise: ", r.chance);
  add(")\nconverged   ", r.marginal_error);
  out += r.converged ? "  yes\n" : "  no\n";
  if (r.n_source_used < r.n_source || r.n_target_used < r.n_target) {
    out += "sampled     " + std::to_string(r.n_source_used) + " of " + std::to_string(r.n_source) +
           ", " + std::to_string(r.n_target_used) + " of " + std::to_string(r.n_target);
    add(": error ", r.sampling_error);
    add(", bias ", r.sampling_bias);
    out += '\n';
  }
  AppendFarthest("A", r.source, out);
  AppendFarthest("B", r.target, out);
  return out;
}

Status Report(Arguments& arguments, const AppContext& context) {
  std::unique_ptr<EmbeddingService> service;
  LATTICE_TRY(const VectorSet a,
              ReadVectorSet(arguments.first, arguments.npy, arguments.embedding, context, service));
  LATTICE_TRY(const VectorSet b, ReadVectorSet(arguments.second, arguments.npy, arguments.embedding,
                                               context, service));
  LATTICE_TRY(const auto report,
              transport::CompareSets({a.values, a.dims}, {b.values, b.dims}, arguments.report,
                                     MachineOf(arguments, context)));
  return Print(arguments.json ? AsJson(report, a.dims) : ForPeople(report));
}

Status Watch(Arguments& arguments, const AppContext& context) {
  const transport::Machine machine = MachineOf(arguments, context);
  if (!arguments.state.empty() && std::filesystem::exists(arguments.state)) {
    LATTICE_TRY(const std::string saved, ReadFile(arguments.state, kMostStateBytes));
    auto detector = transport::DriftDetector::Restore(std::as_bytes(std::span(saved)), machine);
    if (!detector) return std::move(detector).error().Within(arguments.state);
    return WatchStream(*detector, arguments.state, arguments.json, context);
  }
  if (arguments.first.empty()) {
    return Error{ErrorCode::kInvalidArgument, "--watch wants a reference, or a saved --state"};
  }
  std::unique_ptr<EmbeddingService> service;
  LATTICE_TRY(const VectorSet reference,
              ReadVectorSet(arguments.first, arguments.npy, arguments.embedding, context, service));
  service.reset();
  LATTICE_TRY(auto detector, transport::DriftDetector::Make({reference.values, reference.dims},
                                                            arguments.detector, machine));
  return WatchStream(detector, arguments.state, arguments.json, context);
}

Status Run(Arguments& arguments, const AppContext& context) {
  if (arguments.euclidean) {
    arguments.report.ground = transport::Ground::kSquaredEuclidean;
    arguments.detector.ground = transport::Ground::kSquaredEuclidean;
  }
  arguments.detector.seed = arguments.report.seed;
  if (arguments.watch) {
    if (!arguments.second.empty()) {
      return Error{ErrorCode::kInvalidArgument, "--watch takes one set: the reference"};
    }
    return Watch(arguments, context);
  }
  if (arguments.second.empty()) {
    return Error{ErrorCode::kInvalidArgument, "two sets are wanted, or --watch"};
  }
  return Report(arguments, context);
}

}  // namespace

Action DeclareDrift(CLI::App& arguments, const AppContext& context) {
  const auto parsed = std::make_shared<Arguments>();
  DeclareEmbeddingFlags(arguments, parsed->embedding);
  arguments.add_option("A", parsed->first, "Texts (a line each, or .jsonl) or vectors (.npy)");
  arguments.add_option("B", parsed->second, "The set to compare with it");
  arguments.add_flag("--npy", parsed->npy, "The files are NumPy arrays, whatever their names");
  arguments.add_flag("--json", parsed->json, "Print JSON: with the displacement of every record");
  arguments.add_flag("--euclidean", parsed->euclidean,
                     "Squared distances instead of cosines: for vectors whose length counts");
  AddCount(arguments, "--max-records", parsed->report.max_records, "Larger sets are sampled",
           {1, 100'000});
  AddCount(arguments, "--permutations", parsed->report.n_permutations, "Of the test; 0: none",
           {0, 100'000});
  AddCount(arguments, "--seed", parsed->report.seed, "Of samples and permutations");
  arguments.add_flag("--watch", parsed->watch,
                     "Compare windows of standard input, a vector as JSON a line, with A");
  AddCount(arguments, "--window", parsed->detector.window, "Records of a window", {1, 100'000});
  arguments
      .add_option("--state", parsed->state,
                  "With --watch: go on from this file if it is there, and keep it up to date")
      ->type_name("FILE");
  arguments.footer(
      "\nDivergence 0 is no drift; a small p-value says that chance does not explain it.\n\n"
      "Examples:\n  lattice drift last-month.txt today.txt --json\n"
      "  lattice embed -i live.txt --format jsonl | lattice drift reference.npy --watch");
  return [parsed, &context] { return Run(*parsed, context); };
}

}  // namespace lattice::apps
