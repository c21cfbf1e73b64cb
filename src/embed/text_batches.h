#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "base/function_ref.h"
#include "base/thread_pool.h"
#include "lattice/embedding.h"
#include "lattice/result.h"
#include "models/model.h"
#include "tokenizers/tokenizer.h"

namespace lattice::embed {

/// Several texts packed for one forward pass.
struct TextBatch {
  models::Batch rows;                  ///< output_rows is left empty.
  std::span<const std::size_t> texts;  ///< Index of each sequence's text in the caller's list.
};

struct BatchingOptions {
  std::size_t n_texts = 0;
  std::size_t max_batch_tokens = 0;  ///< A text that is longer by itself makes a batch of its own.
  std::size_t vocab = 0;             ///< An id outside is kCorruptData.
  std::stop_token stop;
  const std::function<void(std::size_t done, std::size_t total)>* progress = nullptr;
};

/// Tokenises texts and hands them on in batches.
///
/// Texts are taken in windows of at most 1024 texts or about 4 MiB of text, whichever is less, so
/// that memory does not grow with the input. A window is tokenised by all threads, sorted by length
/// (longest first) and cut into batches of at most max_batch_tokens rows; no text is cut. One short
/// text costs no thread a wake-up.
///
/// n_bytes   length of a text, for the windows.
/// encode    called from several threads, once for each text. An error ends everything.
/// compute   called from this thread, once for each batch, in unspecified order of texts.
/// usage     [n_texts], filled in. A text of no tokens at all is in no batch.
/// Errors    encode's and compute's, those of encode with "text I: " in front (the first of a
///           window); kCancelled, looked at before each window and batch.
Status ForEachTextBatch(const BatchingOptions& options, ThreadPool& pool,
                        FunctionRef<std::size_t(std::size_t text)> n_bytes,
                        FunctionRef<Result<tokenizers::Encoding>(std::size_t text)> encode,
                        FunctionRef<Status(const TextBatch& batch)> compute,
                        std::span<TextUsage> usage);

}  // namespace lattice::embed
