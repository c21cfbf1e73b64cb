#include "apps/command_bench.h"

#include <memory>

#include "apps/bench_embedding.h"
#include "apps/bench_generation.h"
#include "apps/number_flags.h"

namespace lattice::apps {
namespace {

struct Arguments {
  EmbeddingBenchArguments embedding;
  GenerationBenchArguments generation;
};

Status Bench(Arguments& arguments, const AppContext& context) {
  const bool generates = !arguments.generation.model.model.empty();
  if (!generates) return BenchEmbedding(arguments.embedding, context);
  if (!arguments.embedding.embedding.model.empty()) {
    return Error{ErrorCode::kInvalidArgument, "give --model or --embedding-model, not both"};
  }
  GenerationBenchArguments& generation = arguments.generation;
  generation.rounds = arguments.embedding.rounds;
  generation.json = arguments.embedding.json;
  return BenchGeneration(generation, context);
}

void DeclareGeneration(CLI::App& arguments, GenerationBenchArguments& generation) {
  DeclareTextModelFlags(arguments, generation.model);
  arguments.remove_option(arguments.get_option("--context"));
  arguments.get_option("--model")->description(
      "Measure this generator: folder, .gguf file, known name or OWNER/NAME");
  const auto lengths = [&](const char* name, std::vector<std::size_t>& out, const char* what) {
    AddCounts(arguments, name, out, what, {0, 1 << 20})->capture_default_str();
  };
  lengths("-p,--prompt-tokens", generation.prompts, "Tokens of a prompt read at once; 0: none");
  lengths("-n,--generated-tokens", generation.generated, "Tokens made one by one; 0: none");
  lengths("-d,--depth", generation.depths, "Tokens read before, untimed");
}

void DeclareEmbedding(CLI::App& arguments, EmbeddingBenchArguments& embedding) {
  arguments
      .add_option("--embedding-model", embedding.embedding.model,
                  "Measure this embedding model (all-minilm-l6-v2)")
      ->type_name("MODEL");
  arguments
      .add_option("-i,--input", embedding.inputs,
                  "Texts to embed (a text a line, or .jsonl), one test a file; none: one short\n"
                  "query, 1,000 short texts, 200 long ones")
      ->type_name("FILE");
}

}  // namespace

Action DeclareBench(CLI::App& arguments, const AppContext& context) {
  const auto parsed = std::make_shared<Arguments>();
  DeclareGeneration(arguments, parsed->generation);
  DeclareEmbedding(arguments, parsed->embedding);
  AddCount(arguments, "-r,--rounds", parsed->embedding.rounds, "Repetitions; the median counts",
           {1, 1000})
      ->capture_default_str();
  arguments.add_flag("--json", parsed->embedding.json, "Print JSON");
  arguments.footer(
      "\nExamples:\n  lattice bench --embedding-model all-minilm-l6-v2 --precision int8\n"
      "  lattice bench --model smollm2-135m-instruct -p 512 -n 128 -d 0,4096");
  return [parsed, &context] {
    const TextModelFlags& shared = parsed->generation.model;
    EmbeddingFlags& embedding = parsed->embedding.embedding;
    embedding.threads = shared.threads;
    embedding.precision = shared.precision == "auto" ? "f32" : shared.precision;
    return Bench(*parsed, context);
  };
}

}  // namespace lattice::apps
