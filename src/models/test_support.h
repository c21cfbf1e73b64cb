#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "kernels/cpu/cpu_backend.h"
#include "models/model.h"
#include "weights/checkpoint.h"

namespace lattice::models {

/// A model with all it needs to run.
struct LoadedModel {
  explicit LoadedModel(const std::filesystem::path& folder, std::size_t n_threads = 1,
                       kernels::Precision precision = kernels::Precision::kF32)
      : pool(n_threads),
        backend(kernels::MakeCpuBackend(pool, CpuFeatures::Detect())),
        workspace(*backend) {
    auto loaded = LoadModel(folder, *backend, precision);
    if (!loaded) {
      ADD_FAILURE() << loaded.error().message;
      std::abort();
    }
    model = *loaded;
  }
  std::vector<float> Read(const kernels::Buffer& x) {
    std::vector<float> values(x.rows() * x.cols());
    backend->Read(x, values);
    return values;
  }
  std::vector<float> Forward(const Batch& batch) { return Read(model->Forward(batch, workspace)); }
  std::vector<float> Classify(const Batch& batch) {
    return Read(model->Classify(batch, workspace));
  }

  ThreadPool pool;
  std::unique_ptr<kernels::Backend> backend;
  Workspace workspace;
  std::shared_ptr<const Model> model;
};

/// Texts one after another, and the batch that views them.
struct PackedTexts {
  std::vector<TokenId> ids;
  std::vector<std::uint8_t> types;
  std::vector<SequenceRows> sequences;
  std::vector<std::uint32_t> outputs;

  void Add(std::span<const TokenId> text, std::span<const std::uint8_t> text_types = {}) {
    const auto begin = static_cast<std::uint32_t>(ids.size());
    ids.insert(ids.end(), text.begin(), text.end());
    types.insert(types.end(), text_types.begin(), text_types.end());
    types.resize(ids.size(), 0);
    sequences.push_back({begin, static_cast<std::uint32_t>(ids.size())});
  }
  Batch batch() const { return {ids, types, sequences, outputs}; }
};

/// golden.safetensors and kin.
class Golden {
 public:
  explicit Golden(const std::filesystem::path& file) {
    auto opened = weights::Checkpoint::Open(file);
    if (!opened) {
      ADD_FAILURE() << opened.error().message;
      std::abort();
    }
    checkpoint_ = *opened;
  }
  bool Has(std::string_view name) const { return checkpoint_->Find(name) != nullptr; }
  std::vector<std::size_t> Shape(std::string_view name) const { return Get(name).shape; }
  std::vector<float> Floats(std::string_view name) const { return Get(name).ToF32().value(); }
  std::vector<std::int32_t> Ints(std::string_view name) const {
    const auto& tensor = Get(name);
    std::vector<std::int32_t> values(tensor.bytes.size() / sizeof(std::int32_t));
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    return values;
  }

 private:
  const weights::TensorView& Get(std::string_view name) const {
    const auto* tensor = checkpoint_->Find(name);
    if (tensor == nullptr) {
      ADD_FAILURE() << "no golden " << name;
      std::abort();
    }
    return *tensor;
  }
  std::shared_ptr<const weights::Checkpoint> checkpoint_;
};

/// The texts of an encoder's golden, without their padding. `prefix` is "" or "pair_".
inline PackedTexts GoldenTexts(const Golden& golden, const std::string& prefix = "") {
  const auto ids = golden.Ints(prefix + "input_ids"), mask = golden.Ints(prefix + "attention_mask");
  std::vector<std::int32_t> types(ids.size(), 0);
  if (golden.Has(prefix + "token_type_ids")) types = golden.Ints(prefix + "token_type_ids");
  const std::size_t width = golden.Shape(prefix + "input_ids")[1];
  PackedTexts texts;
  for (std::size_t begin = 0; begin < ids.size(); begin += width) {
    std::vector<TokenId> text;
    std::vector<std::uint8_t> text_types;
    for (std::size_t i = begin; i < begin + width; ++i) {
      if (mask[i] == 0) continue;
      text.push_back(ids[i]);
      text_types.push_back(static_cast<std::uint8_t>(types[i]));
    }
    texts.Add(text, text_types);
  }
  return texts;
}

/// Largest |a - b| / (1 + |b|): 1e-5 stands for "1e-5 absolute plus 1e-5 relative".
inline double Distance(std::span<const float> a, std::span<const float> b) {
  EXPECT_EQ(a.size(), b.size());
  double worst = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double reference = static_cast<double>(b[i]);
    const double d = std::abs(static_cast<double>(a[i]) - reference) / (1 + std::abs(reference));
    worst = d >= worst ? d : std::isnan(d) ? 1e30 : worst;
  }
  return worst;
}

}  // namespace lattice::models
