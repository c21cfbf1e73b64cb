#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chat/chat_prompt.h"
#include "decoding/grammar_cache.h"
#include "embed/embedding_model.h"
#include "engine/generation_defaults.h"
#include "engine/scheduler.h"
#include "lattice/embedding.h"
#include "lattice/result.h"
#include "tokenizers/tokenizer.h"

namespace lattice::server {

/// A generator that requests can name. Shared by threads: nothing in it changes, but for caches.
struct ServedTextModel {
  std::string id;
  std::vector<std::string> aliases;  ///< Further names by which requests find it.
  std::int64_t created = 0;          ///< Unix time, the same for as long as it is served.
  std::shared_ptr<const tokenizers::Tokenizer> tokenizer;
  engine::GenerationDefaults defaults;
  Result<chat::ChatFormat> chat;                     ///< Or why it cannot chat.
  std::shared_ptr<decoding::GrammarCache> grammars;  ///< Of requests that hold it to a format.
  std::size_t n_tokens = 0;                          ///< Ids below it can be drawn and biased.
  std::size_t vocab = 0;                             ///< Ids of prompts are below it.
  std::size_t context_tokens = 0;                    ///< Longest text, prompt and answer together.
  bool recurrent = false;  ///< Its prompts go on only from places that were kept.
  /// As Scheduler::Submit and metrics.
  std::function<std::optional<engine::Refusal>(engine::GenerationRequest)> submit;
  std::function<engine::SchedulerMetrics()> metrics;
  std::function<void()> stop;    ///< Scheduler::Stop.
  std::size_t n_parallel = 0;    ///< Answers made at once.
  std::shared_ptr<void> engine;  ///< What the functions refer to.
};

/// An embedding model, or one that scores pairs, that requests can name.
struct ServedEmbedder {
  std::string id;
  std::vector<std::string> aliases;
  std::int64_t created = 0;
  EmbeddingModelInfo info;
  std::shared_ptr<embed::EmbeddingModel> model;
};

/// Whoever answers a request holds its model until the answer is over.
using TextModelPtr = std::shared_ptr<const ServedTextModel>;
using EmbedderPtr = std::shared_ptr<const ServedEmbedder>;

}  // namespace lattice::server
