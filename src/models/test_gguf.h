#pragma once

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "models/gguf_names.h"
#include "models/test_rewrite.h"
#include "weights/gguf_writer.h"

namespace lattice::models {

/// Moves whole rows of a matrix or elements of a vector: new row i is old row order(i).
template <typename Order>
void Reorder(EditableModel::Tensor& tensor, Order order) {
  const std::size_t n = tensor.shape[0], row = tensor.bytes.size() / n;
  std::vector<std::byte> moved;
  for (std::size_t i = 0; i < n; ++i) {
    const auto begin = tensor.bytes.begin() + static_cast<std::ptrdiff_t>(order(i) * row);
    moved.insert(moved.end(), begin, begin + static_cast<std::ptrdiff_t>(row));
  }
  tensor.bytes = std::move(moved);
}

/// A tiny model as a GGUF file would hold it: other names, and what converters do to some tensors.
class GgufVersion {
 public:
  GgufVersion(std::string architecture, EditableModel model)
      : architecture_(std::move(architecture)), model_(std::move(model)) {
    pairs_.SetString("general.architecture", architecture_);
    Set("block_count", "num_hidden_layers");
    Set("embedding_length", "hidden_size");
    Set("context_length", "max_position_embeddings");
    Set("attention.head_count", "num_attention_heads");
    Set("attention.head_count_kv", "num_key_value_heads");
    if (model_.config.contains("intermediate_size")) {
      Set("feed_forward_length", "intermediate_size");
    }
    if (model_.config.contains("head_dim")) Set("attention.key_length", "head_dim");
    pairs_.SetFloat(Key("attention.layer_norm_rms_epsilon"), 1e-6f);
  }

  EditableModel& model() { return model_; }
  weights::GgufPairs& pairs() { return pairs_; }
  std::string Key(const std::string& name) const { return architecture_ + "." + name; }
  void Set(const std::string& name, const char* config_key) {
    pairs_.SetUint32(Key(name),
                     static_cast<std::uint32_t>(model_.config.at(config_key).as_int64()));
  }

  void AddOneToNorms() {
    for (auto& [name, tensor] : model_.tensors) {
      if (!name.ends_with("norm.weight") || name.ends_with("linear_attn.norm.weight")) continue;
      std::vector<float> values = model_.Floats(name);
      for (float& value : values) value += 1.0f;
      model_.Add(name, tensor.shape, values);
    }
  }
  /// Rows 0, d/2, 1, d/2 + 1, ... of every head.
  void PairRotaryRows(std::size_t head_dim) {
    for (auto& [name, tensor] : model_.tensors) {
      if (!name.ends_with("q_proj.weight") && !name.ends_with("k_proj.weight")) continue;
      Reorder(tensor, [&](std::size_t i) {
        const std::size_t at = i % head_dim;
        return i - at + at % 2 * (head_dim / 2) + at / 2;
      });
    }
  }

  void Write(const std::filesystem::path& file) const {
    std::vector<weights::TensorSpec> specs;
    for (const auto& [name, tensor] : model_.tensors) {
      specs.push_back({GgufTensorName(architecture_, name), tensor.dtype, tensor.shape});
    }
    auto writer = weights::GgufWriter::Create(file, pairs_, specs);
    ASSERT_TRUE(writer) << writer.error().message;
    for (const auto& [name, tensor] : model_.tensors) {
      ASSERT_TRUE(writer->Append(std::span<const std::byte>(tensor.bytes))) << name;
    }
    ASSERT_TRUE(writer->Finish());
  }

 private:
  std::string architecture_;
  EditableModel model_;
  weights::GgufPairs pairs_;
};

}  // namespace lattice::models
