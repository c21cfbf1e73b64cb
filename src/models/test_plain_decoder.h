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

/// The decoder graph as a textbook has it, token by token in double, for models with a tied head.
/// What the engine's families are compared with where the fixtures have no values.
class PlainDecoder : private PlainTensors {
 public:
  struct Options {
    std::size_t n_layers = 0, n_heads = 0, n_kv_heads = 0, head_dim = 0, rotary_dim = 0;
    double theta = 1e4, scale = 1, embed_scale = 1, norm_offset = 0, eps = 1e-6;
    double attention_cap = 0, logit_cap = 0;
    bool head_norms = false, sandwich = false, gelu = false;
    std::vector<bool> rotary = {};          ///< [n_layers]; empty: all.
    std::vector<std::size_t> windows = {};  ///< [n_layers] keys seen, the own one included; 0: all.
    std::size_t n_used = 0;                 ///< Experts of a token, in layers that have a router.
    bool renormalise = true;
  };

  PlainDecoder(const EditableModel& model, Options options)
      : PlainTensors(model, options.eps, options.norm_offset),
        o_(std::move(options)),
        keys_(o_.n_layers, std::vector<std::vector<Row>>(o_.n_kv_heads)),
        values_(keys_) {
    for (std::size_t j = 0; j < o_.rotary_dim / 2; ++j) {
      frequencies_.push_back(
          std::pow(o_.theta, -2 * static_cast<double>(j) / static_cast<double>(o_.rotary_dim)));
    }
  }

  /// Logits after each token.
  std::vector<float> Read(std::span<const TokenId> ids) {
    std::vector<float> logits;
    for (const TokenId id : ids) {
      Row x = TableRow("embed_tokens.weight", id, Weights("norm.weight").size());
      Scale(o_.embed_scale, x);
      for (std::size_t i = 0; i < o_.n_layers; ++i) Layer(i, x);
      for (const double v : Product("embed_tokens.weight", Norm("norm.weight", x))) {
        logits.push_back(static_cast<float>(o_.logit_cap > 0 ? Cap(o_.logit_cap, v) : v));
      }
    }
    return logits;
  }

 private:
  /// Head h of a row, normed and turned by its position.
  Row Head(const Row& row, std::size_t h, const std::string& norm, bool rotary, std::size_t pos) {
    Row head = Part(row, h * o_.head_dim, o_.head_dim);
    if (o_.head_norms) head = Norm(norm, head);
    if (rotary) Rotate(static_cast<double>(pos), frequencies_, o_.rotary_dim / 2, head);
    return head;
  }
  Row Attend(std::size_t i, const std::string& at, const Row& x) {
    const Row q = Product(at + "q_proj.weight", x), k = Product(at + "k_proj.weight", x);
    const Row v = Product(at + "v_proj.weight", x);
    const std::size_t pos = keys_[i][0].size();
    const bool rotary = o_.rotary.empty() || o_.rotary[i];
    for (std::size_t g = 0; g < o_.n_kv_heads; ++g) {
      keys_[i][g].push_back(Head(k, g, at + "k_norm.weight", rotary, pos));
      values_[i][g].push_back(Part(v, g * o_.head_dim, o_.head_dim));
    }
    const std::size_t window = o_.windows.empty() ? 0 : o_.windows[i];
    const std::size_t first = window == 0 || pos + 1 < window ? 0 : pos + 1 - window;
    Row context;
    for (std::size_t h = 0; h < o_.n_heads; ++h) {
      const std::size_t g = h / (o_.n_heads / o_.n_kv_heads);
      const Row part =
          Mix(Head(q, h, at + "q_norm.weight", rotary, pos), std::span(keys_[i][g]).subspan(first),
              std::span(values_[i][g]).subspan(first), o_.scale, o_.attention_cap);
      context.insert(context.end(), part.begin(), part.end());
    }
    return Product(at + "o_proj.weight", context);
  }
  Row Gated(const std::string& at, const Row& x) {
    Row gate = Product(at + "gate_proj.weight", x);
    const Row up = Product(at + "up_proj.weight", x);
    for (std::size_t c = 0; c < gate.size(); ++c) {
      gate[c] = up[c] * (o_.gelu ? Gelu(gate[c]) : Silu(gate[c]));
    }
    return Product(at + "down_proj.weight", gate);
  }
  Row FeedForward(const std::string& at, const Row& x) {
    if (!Has(at + "gate.weight")) return Gated(at, x);
    const Row p = Softmax(Product(at + "gate.weight", x));
    const auto order = Ranking(p);
    double used = 0;
    for (std::size_t k = 0; k < o_.n_used; ++k) used += p[order[k]];
    Row y(x.size());
    for (std::size_t k = 0; k < o_.n_used; ++k) {
      Add(Gated(at + "experts." + std::to_string(order[k]) + ".", x), y,
          p[order[k]] / (o_.renormalise ? used : 1));
    }
    return y;
  }
  void Layer(std::size_t i, Row& x) {
    const std::string at = "layers." + std::to_string(i) + ".";
    const std::string after = at + "post_attention_layernorm.weight";
    Row a = Attend(i, at + "self_attn.", Norm(at + "input_layernorm.weight", x));
    if (o_.sandwich) a = Norm(after, a);
    Add(a, x);
    Row f = FeedForward(at + "mlp.",
                        Norm(o_.sandwich ? at + "pre_feedforward_layernorm.weight" : after, x));
    if (o_.sandwich) f = Norm(at + "post_feedforward_layernorm.weight", f);
    Add(f, x);
  }

  Options o_;
  Row frequencies_;
  std::vector<std::vector<std::vector<Row>>> keys_, values_;  // [layer][head][position]
};

}  // namespace lattice::models
