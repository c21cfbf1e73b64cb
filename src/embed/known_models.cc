#include "embed/known_models.h"

#include <algorithm>
#include <array>

namespace lattice::embed {
namespace {

constexpr std::string_view kBgeQuery = "Represent this sentence for searching relevant passages: ";
constexpr std::string_view kQwenQuery =
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:";
constexpr std::string_view kE5InstructQuery =
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ";

constexpr KnownModel Bge(std::string_view name) {
  return {.name = name, .pooling = Pooling::kCls, .max_tokens = 512, .query_prompt = kBgeQuery};
}

constexpr KnownModel E5(std::string_view name) {
  return {
      .name = name, .max_tokens = 512, .query_prompt = "query: ", .passage_prompt = "passage: "};
}

constexpr KnownModel QwenEmbedding(std::string_view name) {
  return {.name = name,
          .pooling = Pooling::kLast,
          .query_prompt = kQwenQuery,
          .append_token = "<|endoftext|>"};
}

// From the models' cards.
constexpr std::array kKnownModels = {
    Bge("bge-small-en-v1.5"),
    Bge("bge-base-en-v1.5"),
    Bge("bge-large-en-v1.5"),
    KnownModel{.name = "bge-m3", .pooling = Pooling::kCls, .max_tokens = 8192},
    KnownModel{.name = "all-minilm-l6-v2", .max_tokens = 256},
    KnownModel{.name = "all-minilm-l12-v2", .max_tokens = 128},
    KnownModel{
        .name = "paraphrase-multilingual-minilm-l12-v2", .normalize = false, .max_tokens = 128},
    E5("e5-small"),
    E5("e5-base"),
    E5("e5-large"),
    E5("e5-small-v2"),
    E5("e5-base-v2"),
    E5("e5-large-v2"),
    E5("multilingual-e5-small"),
    E5("multilingual-e5-base"),
    E5("multilingual-e5-large"),
    KnownModel{.name = "multilingual-e5-large-instruct",
               .max_tokens = 512,
               .query_prompt = kE5InstructQuery},
    KnownModel{.name = "gte-modernbert-base", .pooling = Pooling::kCls, .max_tokens = 8192},
    QwenEmbedding("qwen3-embedding-0.6b"),
    QwenEmbedding("qwen3-embedding-4b"),
    QwenEmbedding("qwen3-embedding-8b"),
    KnownModel{.name = "embeddinggemma-300m",
               .max_tokens = 2048,
               .query_prompt = "task: search result | query: ",
               .passage_prompt = "title: none | text: ",
               .needs_dense = true},
};

}  // namespace

std::string NormalizeModelName(std::string_view name) {
  while (name.ends_with('/')) name.remove_suffix(1);
  if (const auto cached = name.rfind("models--"); cached != std::string_view::npos) {
    name.remove_prefix(cached + 8);
    name = name.substr(0, name.find('/'));
    if (const auto owner = name.rfind("--"); owner != std::string_view::npos) {
      name.remove_prefix(owner + 2);
    }
  }
  if (const auto slash = name.rfind('/'); slash != std::string_view::npos) {
    name.remove_prefix(slash + 1);
  }
  std::string normalized(name);
  std::transform(normalized.begin(), normalized.end(), normalized.begin(), [](char c) {
    if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
    return c == '_' ? '-' : c;
  });
  return normalized;
}

const KnownModel* FindKnownModel(std::string_view normalized_name) {
  const KnownModel* best = nullptr;
  for (const KnownModel& known : kKnownModels) {
    if (!normalized_name.starts_with(known.name)) continue;
    if (normalized_name.size() > known.name.size() && normalized_name[known.name.size()] != '-') {
      continue;
    }
    if (best == nullptr || known.name.size() > best->name.size()) best = &known;
  }
  return best;
}

}  // namespace lattice::embed
