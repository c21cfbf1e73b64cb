#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "models/test_support.h"

namespace lattice::models {

using Ids = std::vector<TokenId>;

/// Whether tensors are compared bit by bit.
inline bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

struct GeneratorOptions {
  std::size_t n_threads = 1;
  std::optional<kernels::Precision> precision = kernels::Precision::kF32;
  kernels::KvType kv_type = kernels::KvType::kF32;
  std::size_t max_tokens = 4096;
};

/// A generator with a store for its sequences.
struct Generator {
  explicit Generator(const std::filesystem::path& path, const GeneratorOptions& options = {})
      : pool(options.n_threads),
        backend(kernels::MakeCpuBackend(pool, CpuFeatures::Detect())),
        workspace(*backend) {
    auto loaded =
        LoadModel(path, *backend, {.purpose = Purpose::kGenerate, .precision = options.precision});
    if (!loaded) Die(loaded.error());
    model = *loaded;
    auto made = SequenceStore::Make(model->state_shape(), *backend,
                                    {.kv_type = options.kv_type, .max_tokens = options.max_tokens});
    if (!made) Die(made.error());
    store = *made;
  }
  [[noreturn]] static void Die(const Error& error) {
    ADD_FAILURE() << error.message;
    std::abort();
  }

  /// One piece of a text and the sequence that takes it up.
  struct Piece {
    Sequence* sequence;
    std::span<const TokenId> ids;
  };
  /// Logits of all rows of the pieces, or of the last row of each, in one batch.
  std::vector<float> Read(std::span<const Piece> pieces, bool last_only = false,
                          const HiddenTap* tap = nullptr) {
    PackedTexts texts;
    std::vector<Sequence*> states;
    for (const Piece& piece : pieces) {
      texts.Add(piece.ids);
      states.push_back(piece.sequence);
      if (last_only) texts.outputs.push_back(texts.sequences.back().end - 1);
      const Status room = piece.sequence->Reserve(piece.ids.size());
      if (!room) Die(room.error());
    }
    Batch batch = texts.batch();
    batch.states = states;
    const kernels::Buffer& hidden = model->Forward(batch, workspace, tap);
    const kernels::Buffer& logits = model->Logits(hidden, {}, workspace);
    std::vector<float> values(logits.rows() * logits.cols());
    backend->Read(logits, values);
    return values;
  }
  std::vector<float> Read(Sequence& sequence, std::span<const TokenId> ids,
                          bool last_only = false) {
    const Piece piece{&sequence, ids};
    return Read({&piece, 1}, last_only);
  }
  /// The same in pieces of n tokens.
  std::vector<float> ReadInPieces(Sequence& sequence, std::span<const TokenId> ids, std::size_t n) {
    std::vector<float> logits;
    for (; !ids.empty(); ids = ids.subspan(std::min(n, ids.size()))) {
      const auto some = Read(sequence, ids.first(std::min(n, ids.size())));
      logits.insert(logits.end(), some.begin(), some.end());
    }
    return logits;
  }

  ThreadPool pool;
  std::unique_ptr<kernels::Backend> backend;
  Workspace workspace;
  std::shared_ptr<const Model> model;
  std::shared_ptr<SequenceStore> store;
};

inline TokenId Best(std::span<const float> logits) {
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

/// The n most probable tokens after `prompt`, one by one.
inline Ids Greedy(Generator& generator, std::span<const TokenId> prompt, std::size_t n) {
  const auto sequence = generator.store->New();
  Ids answer;
  std::vector<float> logits = generator.Read(*sequence, prompt, /*last_only=*/true);
  while (true) {
    answer.push_back(Best(logits));
    if (answer.size() == n) return answer;
    logits = generator.Read(*sequence, std::span(answer).last(1), /*last_only=*/true);
  }
}

/// Negative log-probability of each next token, from logits [n, vocab] of all n tokens.
inline std::vector<float> NegativeLogProbabilities(std::span<const float> logits,
                                                   std::span<const TokenId> ids) {
  const std::size_t vocab = logits.size() / ids.size();
  std::vector<float> nll;
  for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
    const auto row = logits.subspan(i * vocab, vocab);
    const double best = static_cast<double>(*std::max_element(row.begin(), row.end()));
    double sum = 0;
    for (const float value : row) sum += std::exp(static_cast<double>(value) - best);
    const double own = static_cast<double>(row[static_cast<std::size_t>(ids[i + 1])]);
    nll.push_back(static_cast<float>(best + std::log(sum) - own));
  }
  return nll;
}

}  // namespace lattice::models
