#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/token_id.h"
#include "models/test_plain_tensors.h"
#include "models/test_rewrite.h"

namespace lattice::models {

/// Gemma 4's text model token by token in double: its formulas, one after another. Layers have a
/// mixture if their tensors do; so have models inputs of a token for every layer.
class PlainGemma4 : private PlainTensors {
 public:
  struct Layer {
    bool sliding = true;
    std::size_t n_kv_heads = 1, head_dim = 0;
    std::size_t kv_source = 0;  ///< The layer whose keys and values it reads.
  };
  struct Options {
    std::vector<Layer> layers;
    std::size_t n_heads = 0, window = 0;  ///< The window counts the own key.
    double sliding_theta = 1e4, full_theta = 1e6;
    double full_share = 0.25;  ///< Of the pairs of a head, those that are turned in full layers.
    double logit_cap = 0;
    std::size_t layer_input = 0, n_used = 0;
    bool mixtures = true;  ///< False: as if there were none.
  };

  PlainGemma4(const EditableModel& model, Options options)
      : PlainTensors(model, 1e-6, 0),
        o_(std::move(options)),
        keys_(o_.layers.size()),
        values_(o_.layers.size()) {
    for (std::size_t i = 0; i < o_.layers.size(); ++i) {
      keys_[i].resize(o_.layers[i].n_kv_heads);
      values_[i].resize(o_.layers[i].n_kv_heads);
    }
  }

  /// Logits after each token.
  std::vector<float> Read(std::span<const TokenId> ids) {
    std::vector<float> logits;
    for (const TokenId id : ids) {
      const std::size_t hidden = Weights("norm.weight").size();
      Row x = TableRow("embed_tokens.weight", id, hidden);
      Scale(std::sqrt(static_cast<double>(hidden)), x);
      const std::vector<Row> inputs = LayerInputs(id, x);
      for (std::size_t i = 0; i < o_.layers.size(); ++i) Step(i, inputs, x);
      for (const double v : Product("embed_tokens.weight", Norm("norm.weight", x))) {
        logits.push_back(static_cast<float>(Cap(o_.logit_cap, v)));
      }
      ++pos_;
    }
    return logits;
  }

 private:
  std::vector<Row> LayerInputs(TokenId id, const Row& embedded) {
    const std::size_t width = o_.layer_input;
    if (width == 0) return {};
    Row own = TableRow("embed_tokens_per_layer.weight", id, width * o_.layers.size());
    Scale(std::sqrt(static_cast<double>(width)), own);
    Row context = Product("per_layer_model_projection.weight", embedded);
    Scale(1 / std::sqrt(static_cast<double>(embedded.size())), context);
    std::vector<Row> inputs;
    for (std::size_t i = 0; i < o_.layers.size(); ++i) {
      Row input = Norm("per_layer_projection_norm.weight", Part(context, i * width, width));
      Add(Part(own, i * width, width), input);
      Scale(1 / std::sqrt(2.0), input);
      inputs.push_back(std::move(input));
    }
    return inputs;
  }
  void Turn(const Layer& layer, Row& head) const {
    const double pairs = static_cast<double>(head.size()) / 2;
    const double turned = std::floor(layer.sliding ? pairs : o_.full_share * pairs);
    Row frequencies;
    for (double j = 0; j < turned; ++j) {
      frequencies.push_back(std::pow(layer.sliding ? o_.sliding_theta : o_.full_theta, -j / pairs));
    }
    Rotate(static_cast<double>(pos_), frequencies, head.size() / 2, head);
  }
  void StoreKeys(std::size_t i, const std::string& at, const Row& x) {
    const Layer& layer = o_.layers[i];
    const Row k = Product(at + "k_proj.weight", x);
    const Row v = Has(at + "v_proj.weight") ? Product(at + "v_proj.weight", x) : k;
    for (std::size_t g = 0; g < layer.n_kv_heads; ++g) {
      Row key = Norm(at + "k_norm.weight", Part(k, g * layer.head_dim, layer.head_dim));
      Turn(layer, key);
      keys_[i][g].push_back(std::move(key));
      values_[i][g].push_back(PlainNorm(Part(v, g * layer.head_dim, layer.head_dim)));
    }
  }
  Row Attend(std::size_t i, const std::string& at, const Row& x) {
    const Layer& layer = o_.layers[i];
    if (layer.kv_source == i) StoreKeys(i, at, x);
    const Row q = Product(at + "q_proj.weight", x);
    const bool slid = layer.sliding && pos_ + 1 > o_.window;
    const std::size_t first = slid ? pos_ + 1 - o_.window : 0;
    Row context;
    for (std::size_t h = 0; h < o_.n_heads; ++h) {
      Row query = Norm(at + "q_norm.weight", Part(q, h * layer.head_dim, layer.head_dim));
      Turn(layer, query);
      const std::size_t g = h / (o_.n_heads / layer.n_kv_heads);
      const Row part = Mix(query, std::span(keys_[layer.kv_source][g]).subspan(first),
                           std::span(values_[layer.kv_source][g]).subspan(first), 1, 0);
      context.insert(context.end(), part.begin(), part.end());
    }
    return Product(at + "o_proj.weight", context);
  }
  Row Dense(const std::string& at, const Row& x) {
    Row gate = Product(at + "gate_proj.weight", x);
    const Row up = Product(at + "up_proj.weight", x);
    for (std::size_t c = 0; c < gate.size(); ++c) gate[c] = Gelu(gate[c]) * up[c];
    return Product(at + "down_proj.weight", gate);
  }
  /// What the experts say to `normed`, chosen by what the router sees of x.
  Row Mixture(const std::string& at, const Row& x, const Row& normed) {
    Row seen = PlainNorm(x);
    const auto& scale = Weights(at + "router.scale");
    for (std::size_t c = 0; c < seen.size(); ++c) {
      seen[c] *= static_cast<double>(scale[c]) / std::sqrt(static_cast<double>(seen.size()));
    }
    const Row p = Softmax(Product(at + "router.proj.weight", seen));
    const auto order = Ranking(p);
    double chosen = 0;
    for (std::size_t k = 0; k < o_.n_used; ++k) chosen += p[order[k]];
    Row y(x.size());
    for (std::size_t k = 0; k < o_.n_used; ++k) {
      const std::size_t e = order[k];
      const std::size_t width = Weights(at + "experts.down_proj").size() / p.size() / x.size();
      const Row gate_up = Product(at + "experts.gate_up_proj", normed, e, 2 * width);
      Row gated = Part(gate_up, 0, width);
      for (std::size_t c = 0; c < width; ++c) gated[c] = Gelu(gated[c]) * gate_up[width + c];
      Add(Product(at + "experts.down_proj", gated, e, x.size()), y,
          p[e] / chosen * static_cast<double>(Weights(at + "router.per_expert_scale")[e]));
    }
    return y;
  }
  Row FeedForward(const std::string& at, const Row& x) {
    Row f = Dense(at + "mlp.", Norm(at + "pre_feedforward_layernorm.weight", x));
    if (!o_.mixtures || !Has(at + "router.proj.weight")) return f;
    f = Norm(at + "post_feedforward_layernorm_1.weight", f);
    const Row mixed = Mixture(at, x, Norm(at + "pre_feedforward_layernorm_2.weight", x));
    Add(Norm(at + "post_feedforward_layernorm_2.weight", mixed), f);
    return f;
  }
  void Step(std::size_t i, const std::vector<Row>& inputs, Row& x) {
    const std::string at = "layers." + std::to_string(i) + ".";
    const Row attended = Attend(i, at + "self_attn.", Norm(at + "input_layernorm.weight", x));
    Add(Norm(at + "post_attention_layernorm.weight", attended), x);
    Add(Norm(at + "post_feedforward_layernorm.weight", FeedForward(at, x)), x);
    if (!inputs.empty()) {
      Row gate = Product(at + "per_layer_input_gate.weight", x);
      for (std::size_t c = 0; c < gate.size(); ++c) gate[c] = Gelu(gate[c]) * inputs[i][c];
      Add(Norm(at + "post_per_layer_input_norm.weight",
               Product(at + "per_layer_projection.weight", gate)),
          x);
    }
    Scale(static_cast<double>(Weights(at + "layer_scalar")[0]), x);
  }

  Options o_;
  std::size_t pos_ = 0;
  std::vector<std::vector<std::vector<Row>>> keys_, values_;  // [layer][head][position]
};

}  // namespace lattice::models
