#include "apps/command_similarity.h"

#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include "apps/embedding_flags.h"
#include "apps/json_text.h"
#include "lattice/vectors.h"

namespace lattice::apps {
namespace {

struct Arguments {
  EmbeddingFlags embedding;
  std::string first, second;
  bool json = false;
};

Status Compare(const Arguments& arguments, const AppContext& context) {
  LATTICE_TRY(const auto service, OpenService(arguments.embedding, context));
  EmbedRequest request;
  request.model = arguments.embedding.model;
  request.stop = context.stop;
  const std::array<std::string, 2> texts = {arguments.first, arguments.second};
  LATTICE_TRY(const Embeddings vectors, service->Embed(texts, request));
  LATTICE_TRY(const float cosine, VectorOps().Cosine(vectors[0], vectors[1]));
  if (const auto remark = TruncationRemark(CountTruncated(vectors.usage), texts.size())) {
    if (const LogSink log = context.Log()) log(LogLevel::kWarning, *remark);
  }
  if (!arguments.json) {
    char line[32];
    std::snprintf(line, sizeof(line), "%.6f\n", static_cast<double>(cosine));
    return Print(line);
  }
  std::string out = "{\"similarity\":";
  AppendJson(cosine, out);
  out += ",\"metric\":\"cosine\",\"n_tokens\":[" + std::to_string(vectors.usage[0].n_tokens) + "," +
         std::to_string(vectors.usage[1].n_tokens) + "]}\n";
  return Print(out);
}

}  // namespace

Action DeclareSimilarity(CLI::App& arguments, const AppContext& context) {
  const auto parsed = std::make_shared<Arguments>();
  DeclareEmbeddingFlags(arguments, parsed->embedding);
  arguments.add_option("A", parsed->first, "The first text")->required();
  arguments.add_option("B", parsed->second, "The second text")->required();
  arguments.add_flag("--json", parsed->json, "Print JSON");
  arguments.footer("\nExample:\n  lattice similarity \"a cat sat\" \"the kitten rested\"");
  return [parsed, &context] { return Compare(*parsed, context); };
}

}  // namespace lattice::apps
