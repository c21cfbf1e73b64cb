#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "embed/embedding_model.h"
#include "kernels/cpu/cpu_backend.h"
#include "models/model.h"
#include "tokenizers/tokenizer.h"

namespace lattice::embed {

/// One token a byte (id = byte), between ids 256 and 257 when `framed`. Named tokens are found by
/// Find only.
class ByteTokenizer final : public tokenizers::Tokenizer {
 public:
  explicit ByteTokenizer(bool framed, std::map<std::string, TokenId, std::less<>> named = {})
      : framed_(framed), named_(std::move(named)) {}

  Result<tokenizers::Encoding> Encode(std::string_view text,
                                      const tokenizers::EncodeOptions& options) const override {
    const bool frame = framed_ && options.add_special_tokens;
    const std::size_t n_frame = frame ? 2 : 0;
    if (options.max_tokens != 0 && options.max_tokens < n_frame) {
      return Error{ErrorCode::kInvalidArgument, "no room"};
    }
    tokenizers::Encoding encoding;
    encoding.n_tokens_untruncated = text.size() + n_frame;
    if (options.max_tokens != 0) text = text.substr(0, options.max_tokens - n_frame);
    if (frame) encoding.ids.push_back(256);
    for (const char c : text) encoding.ids.push_back(static_cast<unsigned char>(c));
    if (frame) encoding.ids.push_back(257);
    encoding.type_ids.assign(encoding.ids.size(), 0);
    return encoding;
  }
  Result<tokenizers::Encoding> EncodePair(std::string_view first, std::string_view second,
                                          const tokenizers::EncodeOptions& options) const override {
    return Encode(std::string(first) + "|" + std::string(second), options);
  }
  std::unique_ptr<tokenizers::TokenStream> StartDecoding(bool) const override { return nullptr; }
  std::size_t vocab_size() const override { return 300; }
  std::optional<TokenId> Find(std::string_view token) const override {
    const auto found = named_.find(token);
    return found == named_.end() ? std::nullopt : std::optional<TokenId>(found->second);
  }
  std::optional<std::string_view> TokenText(TokenId) const override { return std::nullopt; }
  std::optional<std::string> TokenBytes(TokenId) const override { return std::nullopt; }
  bool IsSpecial(TokenId) const override { return false; }

 private:
  bool framed_;
  std::map<std::string, TokenId, std::less<>> named_;
};

/// A "transformer" whose hidden state of row i is {id, position, 1, 0}; a NaN for the id of '!'.
/// Scores a sequence by the sum of its ids.
class PlainModel final : public models::Model {
 public:
  explicit PlainModel(kernels::Backend& backend) : backend_(backend) {
    info_.architecture = "plain";
    info_.vocab = 300;
    info_.hidden = 4;
    info_.max_tokens = 64;
  }
  models::ModelInfo& mutable_info() { return info_; }
  const models::ModelInfo& info() const override { return info_; }

  const kernels::Buffer& Forward(const models::Batch& batch, models::Workspace& workspace,
                                 const models::HiddenTap*) const override {
    std::vector<float> all;
    for (const auto [begin, end] : batch.sequences) {
      for (std::uint32_t i = begin; i < end; ++i) {
        const bool bad = batch.ids[i] == '!';
        all.insert(all.end(), {bad ? std::nanf("") : static_cast<float>(batch.ids[i]),
                               static_cast<float>(i - begin), 1.0f, 0.0f});
      }
    }
    std::vector<float> wanted;
    for (const std::uint32_t row : batch.output_rows) {
      const auto at = all.begin() + static_cast<std::ptrdiff_t>(row * 4);
      wanted.insert(wanted.end(), at, at + 4);
    }
    const auto& out = batch.output_rows.empty() ? all : wanted;
    n_rows_given_.push_back(out.size() / 4);
    last_ids_.assign(batch.ids.begin(), batch.ids.end());
    backend_.Write(out, out.size() / 4, 4, workspace[0]);
    return workspace[0];
  }
  const kernels::Buffer& Classify(const models::Batch& batch,
                                  models::Workspace& workspace) const override {
    std::vector<float> sums;
    for (const auto [begin, end] : batch.sequences) {
      float sum = 0;
      for (std::uint32_t i = begin; i < end; ++i) sum += static_cast<float>(batch.ids[i]);
      sums.push_back(sum / 1000);
    }
    last_ids_.assign(batch.ids.begin(), batch.ids.end());
    backend_.Write(sums, sums.size(), 1, workspace[1]);
    return workspace[1];
  }
  /// The logit of token t is (position of the row) * t.
  const kernels::Buffer& Logits(const kernels::Buffer& hidden, std::span<const TokenId> ids,
                                models::Workspace& workspace) const override {
    std::vector<float> rows(hidden.rows() * 4), logits;
    backend_.Read(hidden, rows);
    for (std::size_t r = 0; r < hidden.rows(); ++r) {
      for (const TokenId id : ids) logits.push_back(rows[r * 4 + 1] * static_cast<float>(id));
    }
    backend_.Write(logits, hidden.rows(), ids.size(), workspace[1]);
    return workspace[1];
  }

  /// Rows that each Forward was asked for, and the ids of the last call.
  const std::vector<std::size_t>& n_rows_given() const { return n_rows_given_; }
  const std::vector<TokenId>& last_ids() const { return last_ids_; }

 private:
  kernels::Backend& backend_;
  models::ModelInfo info_;
  mutable std::vector<std::size_t> n_rows_given_;
  mutable std::vector<TokenId> last_ids_;
};

/// Threads and a backend for one test.
struct TestEngine {
  explicit TestEngine(std::size_t n_threads = 1, std::size_t max_batch_tokens = 0)
      : pool(n_threads), backend(kernels::MakeCpuBackend(pool, CpuFeatures::Detect())) {
    engine.backend = backend.get();
    engine.pool = &pool;
    engine.max_batch_tokens = max_batch_tokens;
  }
  ThreadPool pool;
  std::unique_ptr<kernels::Backend> backend;
  Engine engine;
};

}  // namespace lattice::embed
