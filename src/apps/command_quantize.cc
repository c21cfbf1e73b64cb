#include "apps/command_quantize.h"

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "apps/number_flags.h"
#include "apps/progress_bar.h"
#include "apps/quantize_report.h"
#include "apps/quantize_source.h"
#include "apps/text_engine.h"
#include "apps/weight_types.h"
#include "base/disk_space.h"
#include "hub/hub.h"
#include "weights/quantise_plan.h"

namespace lattice::apps {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string source, destination, type;
  std::string embedding_type, output_type;
  std::size_t threads = 0;
  bool pure = false, dry_run = false, force = false, json = false;
};

Status CheckDestination(const Arguments& arguments, const fs::path& source) {
  const fs::path file = arguments.destination;
  std::error_code ignored;
  if (file.extension() != ".gguf") {
    return Error{ErrorCode::kInvalidArgument,
                 file.string() + ": the result is a GGUF file and its name must end in .gguf"};
  }
  if (fs::equivalent(file, source, ignored)) {
    return Error{ErrorCode::kInvalidArgument, file.string() + ": would replace its own source"};
  }
  if (fs::exists(file, ignored) && !arguments.force && !arguments.dry_run) {
    return Error{ErrorCode::kInvalidArgument,
                 file.string() + ": exists already; --force replaces it"};
  }
  return Ok();
}

void Remark(const QuantizeSource& source, const weights::QuantiseNotes& notes, const LogSink& log) {
  if (notes.requantised.empty() || !log) return;
  const weights::TensorJob& first = source.plan().jobs[notes.requantised[0]];
  log(LogLevel::kWarning, std::to_string(notes.requantised.size()) +
                              " tensors are quantised already (" + first.spec.name + ": " +
                              TypeText(first.source.dtype) + ") and lose more by this; better " +
                              "start from f16, bf16 or f32");
}

Result<double> Write(const Arguments& arguments, const AppContext& context,
                     const QuantizeSource& source) {
  const auto start = std::chrono::steady_clock::now();
  const fs::path folder = fs::path(arguments.destination).parent_path();
  LATTICE_TRY_VOID(CheckDiskSpace(folder.empty() ? "." : folder, source.plan().tensor_bytes()));
  std::vector<weights::TensorSpec> specs;
  for (const weights::TensorJob& job : source.plan().jobs) specs.push_back(job.spec);
  LATTICE_TRY(auto writer, weights::GgufWriter::Create(arguments.destination, source.plan().pairs,
                                                       std::move(specs)));
  const std::unique_ptr<ThreadPool> pool = MakePool(arguments.threads);
  const std::string what = fs::path(arguments.destination).filename().string();
  weights::TensorJobOptions options{.stop = context.stop, .what = what};
  if (!context.quiet) options.progress = MakeProgressSink(ProgressUnit::kBytes);
  LATTICE_TRY_VOID(
      weights::RunTensorJobs(source.plan().jobs, *source.checkpoint, *pool, options, writer));
  LATTICE_TRY_VOID(writer.Finish());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Status Quantize(const Arguments& arguments, const AppContext& context) {
  LATTICE_TRY(const hub::ResolvedModel resolved, hub::Resolve(arguments.source, context.Hub()));
  LATTICE_TRY_VOID(CheckDestination(arguments, resolved.path));
  LATTICE_TRY(QuantizeSource source, OpenQuantizeSource(resolved.path));
  // Of names that the flags' check let through.
  const auto type_of = [](std::string_view name) { return FindType(FileWeightTypes(), name); };
  const weights::QuantisePolicy policy{.type = type_of(arguments.type).value_or(Dtype::kQ8_0),
                                       .embedding_type = type_of(arguments.embedding_type),
                                       .output_type = type_of(arguments.output_type),
                                       .pure = arguments.pure};
  const weights::QuantiseNotes notes = weights::ApplyPolicy(policy, source.plan());
  Remark(source, notes, context.Log());
  QuantizeReport report{.source = source.path,
                        .destination = arguments.destination,
                        .type = arguments.type,
                        .plan = &source.plan(),
                        .notes = &notes,
                        .seconds = {}};
  if (!arguments.dry_run) {
    auto seconds = Write(arguments, context, source);
    if (!seconds) return std::move(seconds).error().Within(source.path.string());
    report.seconds = *seconds;
  }
  if (arguments.json) return Print(QuantizeJson(report));
  return Print(arguments.dry_run ? TensorTable(report) : SummaryText(report));
}

}  // namespace

Action DeclareQuantize(CLI::App& arguments, const AppContext& context) {
  const auto parsed = std::make_shared<Arguments>();
  const std::vector<std::string> types = TypeTexts(FileWeightTypes());
  arguments.add_option("SRC", parsed->source, "A .gguf file, a folder, or a model's name")
      ->required();
  arguments.add_option("DST", parsed->destination, "The .gguf file to write")->required();
  arguments.add_option("--type", parsed->type, "What most weights become")
      ->check(CLI::IsMember(types))
      ->required();
  arguments
      .add_option("--embedding-type", parsed->embedding_type,
                  "What the token embedding becomes, whatever the rule says")
      ->check(CLI::IsMember(types));
  arguments
      .add_option("--output-type", parsed->output_type,
                  "What the output head becomes (of a tied model: the embedding)")
      ->check(CLI::IsMember(types));
  arguments.add_flag("--pure", parsed->pure, "No matrix gets more bits than --type for its role");
  arguments.add_flag("--dry-run", parsed->dry_run, "Print what would become what; write nothing");
  arguments.add_flag("--force", parsed->force, "Replace DST if it exists");
  AddThreads(arguments, parsed->threads);
  arguments.add_flag("--json", parsed->json, "Print JSON");
  arguments.footer(
      "\nWrites the model's weights in fewer bits, as a GGUF file that other programs read too.\n"
      "Vectors, norms, routers and convolutions stay as they are; heads and some other tensors\n"
      "get more bits than the rest (--dry-run shows which). The same source and flags give the\n"
      "same bytes, whatever the threads. Memory does not grow with the model.\n"
      "\nOf folders (safetensors): Llama, SmolLM2, Qwen2, Qwen3, Qwen3.5, Gemma 2 and 3, with "
      "their\n"
      "tokenizer and chat template.\n"
      "\nExamples:\n"
      "  lattice quantize Qwen/Qwen3-0.6B qwen3-q4_k.gguf --type q4_k\n"
      "  lattice quantize model-f16.gguf model-q8_0.gguf --type q8_0 --dry-run\n"
      "  lattice quantize model-f16.gguf small.gguf --type q4_0 --embedding-type q8_0");
  return [parsed, &context] { return Quantize(*parsed, context); };
}

}  // namespace lattice::apps
