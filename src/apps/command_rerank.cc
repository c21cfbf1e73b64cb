#include "apps/command_rerank.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "apps/embedding_flags.h"
#include "apps/json_text.h"
#include "apps/number_flags.h"
#include "apps/text_input.h"

namespace lattice::apps {
namespace {

constexpr std::size_t kMaxInputBytes = std::size_t{1} << 30;

struct Arguments {
  EmbeddingFlags embedding;
  std::vector<std::string> texts;
  std::string input;
  std::string query;
  std::string instruction;
  std::size_t top = 0;
  bool json = false;
};

/// Indices of the scores, best first; equal scores in input order; at most `top` unless 0.
std::vector<std::size_t> Ranking(const std::vector<RerankScore>& scores, std::size_t top) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a].score > scores[b].score; });
  if (top != 0 && top < order.size()) order.resize(top);
  return order;
}

std::string Json(const Arguments& arguments, const std::vector<std::string>& texts,
                 const std::vector<RerankScore>& scores, const std::vector<std::size_t>& order) {
  std::string out = "{\"model\":";
  AppendJson(arguments.embedding.model, out);
  out += ",\"query\":";
  AppendJson(arguments.query, out);
  out += ",\"results\":[";
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const RerankScore& score = scores[order[rank]];
    out += rank == 0 ? "\n" : ",\n";
    out += "{\"index\":" + std::to_string(order[rank]) + ",\"score\":";
    AppendJson(score.score, out);
    out += ",\"logit\":";
    AppendJson(score.logit, out);
    out += ",\"n_tokens\":" + std::to_string(score.usage.n_tokens) + ",\"truncated\":";
    out += score.usage.truncated() ? "true" : "false";
    out += ",\"text\":";
    AppendJson(texts[order[rank]], out);
    out += '}';
  }
  return out + "]}\n";
}

Status Rerank(const Arguments& arguments, const AppContext& context) {
  LATTICE_TRY(TextInput input, TextInput::Open(arguments.texts, arguments.input));
  LATTICE_TRY(const std::vector<std::string> texts, input.All(kMaxInputBytes));
  LATTICE_TRY(const auto service, OpenService(arguments.embedding, context));
  RerankRequest request;
  request.model = arguments.embedding.model;
  request.query = arguments.query;
  request.instruction = arguments.instruction;
  request.stop = context.stop;
  LATTICE_TRY(const std::vector<RerankScore> scores, service->Rerank(texts, request));
  const auto n_truncated = std::ranges::count_if(
      scores, [](const RerankScore& score) { return score.usage.truncated(); });
  if (const auto remark = TruncationRemark(static_cast<std::size_t>(n_truncated), scores.size())) {
    if (const LogSink log = context.Log()) log(LogLevel::kWarning, *remark);
  }
  const std::vector<std::size_t> order = Ranking(scores, arguments.top);
  if (arguments.json) return Print(Json(arguments, texts, scores, order));
  std::string out;
  for (const std::size_t i : order) {
    char score[32];
    std::snprintf(score, sizeof(score), "%10.6f  ", static_cast<double>(scores[i].score));
    out += score + texts[i] + "\n";
  }
  return Print(out);
}

}  // namespace

Action DeclareRerank(CLI::App& arguments, const AppContext& context) {
  const auto parsed = std::make_shared<Arguments>();
  DeclareEmbeddingFlags(arguments, parsed->embedding);
  arguments.get_option("--model")->required()->description(
      "A cross-encoder or reranking decoder: folder, known name or OWNER/NAME");
  arguments.add_option("--query", parsed->query, "What the texts are judged against")->required();
  DeclareTexts(arguments, parsed->texts, parsed->input);
  arguments.add_option("--instruction", parsed->instruction,
                       "For models that take one (Qwen3-Reranker)");
  AddCount(arguments, "--top", parsed->top, "Print only the best N", {1});
  arguments.add_flag("--json", parsed->json, "Print JSON");
  arguments.footer(
      "\nExample:\n"
      "  lattice rerank --model ms-marco-minilm-l6-v2 --query \"capital of France\" \\\n"
      "      \"Paris is the capital.\" \"Lyon is a city.\" --top 1");
  return [parsed, &context] { return Rerank(*parsed, context); };
}

}  // namespace lattice::apps
