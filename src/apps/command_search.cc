#include "apps/command_search.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "apps/embedding_flags.h"
#include "apps/json_text.h"
#include "apps/named_values.h"
#include "apps/number_flags.h"
#include "apps/vector_input.h"
#include "lattice/vectors.h"

namespace lattice::apps {
namespace {

constexpr Named<Metric> kMetrics[] = {
    {"cosine", Metric::kCosine}, {"dot", Metric::kDot}, {"euclidean", Metric::kEuclidean}};

// Queries that share one reading of the store: as many as keep this many rows, so that a large
// --top needs no more memory.
constexpr std::size_t kKeptRows = 1'000'000, kMostAtOnce = 256;

struct Arguments {
  EmbeddingFlags embedding;
  std::string store, queries, role = "query", metric = "cosine";
  std::vector<std::string> texts;
  std::size_t top = 10;
  bool json = false;
};

Result<VectorSet> QueriesOf(const Arguments& a, const AppContext& context) {
  if (a.texts.empty()) return ReadStoredVectors(a.queries);
  LATTICE_TRY(const auto service, OpenService(a.embedding, context));
  LATTICE_TRY(const Role role, ParseRole(a.role));
  return EmbedTexts(*service, a.embedding, a.texts, role, context);
}

std::string RowsJson(std::size_t query, const std::vector<Neighbour>& found,
                     const VectorSet& store) {
  std::vector<std::string> rows;
  for (const Neighbour& row : found) {
    JsonObject out;
    out.Count("index", row.index).Number("score", static_cast<double>(row.score));
    if (!store.texts.empty()) out.Text("text", store.texts[row.index]);
    rows.push_back(out.Take());
  }
  return JsonObject().Count("query", query).Json("results", JsonArray(rows)).Take() + "\n";
}

std::string RowsText(const std::vector<Neighbour>& found, const VectorSet& store) {
  std::string out;
  for (const Neighbour& row : found) {
    char text[64];
    std::snprintf(text, sizeof(text), "%10.6f  %zu", static_cast<double>(row.score), row.index);
    out += text;
    if (!store.texts.empty()) out += "  " + store.texts[row.index];
    out += '\n';
  }
  return out;
}

Status Search(const Arguments& a, const AppContext& context) {
  if (a.texts.empty() == a.queries.empty()) {
    return Error{ErrorCode::kInvalidArgument, "wanted: texts to search for, or --queries"};
  }
  LATTICE_TRY(const Metric metric, FindNamed(kMetrics, "metric", a.metric));
  VectorOps ops;
  if (!context.instruction_set.empty()) {
    LATTICE_TRY(ops, VectorOps::WithInstructionSet(context.instruction_set));
  }
  LATTICE_TRY(const VectorSet store, ReadStoredVectors(a.store));
  LATTICE_TRY(const VectorSet queries, QueriesOf(a, context));
  if (queries.dims != store.dims) {
    return Error{ErrorCode::kInvalidArgument,
                 a.store + ": vectors of " + std::to_string(store.dims) +
                     " dimensions, but queries of " + std::to_string(queries.dims)};
  }
  const std::size_t at_once =
      std::clamp<std::size_t>(kKeptRows / std::min(a.top, store.size()), 1, kMostAtOnce);
  for (std::size_t i = 0; i < queries.size(); i += at_once) {
    if (context.stop.stop_requested()) return Error{ErrorCode::kCancelled, "search was stopped"};
    const std::size_t n = std::min(at_once, queries.size() - i);
    const auto these = queries.values.subspan(i * store.dims, n * store.dims);
    auto found = ops.TopKMany(these, store.dims, store.values, a.top, metric, a.embedding.threads);
    if (!found) return std::move(found).error().Within(a.store);
    std::string text;
    for (std::size_t q = 0; q < n; ++q) {
      const std::string between = i + q == 0 ? "" : "\n";
      text += a.json ? RowsJson(i + q, (*found)[q], store) : between + RowsText((*found)[q], store);
    }
    LATTICE_TRY_VOID(Print(text));
  }
  return Ok();
}

}  // namespace

Action DeclareSearch(CLI::App& arguments, const AppContext& context) {
  const auto parsed = std::make_shared<Arguments>();
  DeclareEmbeddingFlags(arguments, parsed->embedding);
  arguments
      .add_option(
          "VECTORS", parsed->store,
          "What is searched: a NumPy array of f32 (.npy; read in place), or a vector as "
          "JSON a line, as `embed` writes them (.jsonl; with \"text\" where it is to be shown)")
      ->required();
  arguments.add_option("TEXT", parsed->texts, "What to search for; --model turns it into vectors");
  arguments.add_option("--queries", parsed->queries, "Vectors to search for, as VECTORS")
      ->type_name("FILE");
  arguments.add_option("--role", parsed->role, "Which prompt of the model TEXT gets (query)")
      ->check(CLI::IsMember(RoleNames()));
  arguments.add_option("--metric", parsed->metric, "How vectors are compared (cosine)")
      ->check(CLI::IsMember(NamesOf(kMetrics)));
  AddCount(arguments, "--top", parsed->top, "How many rows for each query (10)", {1});
  arguments.add_flag("--json", parsed->json, "Print JSON, an object for each query");
  arguments.footer(
      "\nEvery row is compared: the result is exact. Best first; rows count from 0.\n\n"
      "Examples:\n  lattice embed -i notes.txt --format npy --output notes.npy\n"
      "  lattice search notes.npy \"where are the keys\" --top 3\n"
      "  lattice search notes.npy --queries others.npy --json");
  return [parsed, &context] { return Search(*parsed, context); };
}

}  // namespace lattice::apps
