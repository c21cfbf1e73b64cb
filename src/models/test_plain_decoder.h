#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/token_id.h"
#include "models/test_rewrite.h"

namespace lattice::models {

/// The decoder graph as a textbook has it, token by token in double, for tensors of one
/// EditableModel with the prefix "model." and a tied head. What the engine's families are compared
/// with where the fixtures have no values.
class PlainDecoder {
 public:
  using Row = std::vector<double>;

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
      : model_(model), o_(std::move(options)), keys_(o_.n_layers), values_(o_.n_layers) {}

  /// Logits after each token.
  std::vector<float> Read(std::span<const TokenId> ids) {
    std::vector<float> logits;
    for (const TokenId id : ids) {
      Row x = TableRow(id);
      for (double& v : x) v *= o_.embed_scale;
      for (std::size_t i = 0; i < o_.n_layers; ++i) Layer(i, x);
      Row y = Product("embed_tokens.weight", Norm("norm.weight", x));
      for (double v : y) {
        logits.push_back(static_cast<float>(o_.logit_cap > 0 ? Cap(o_.logit_cap, v) : v));
      }
    }
    return logits;
  }

 private:
  static double Cap(double c, double v) { return c * std::tanh(v / c); }
  const std::vector<float>& Weights(const std::string& name) {
    auto& kept = cache_[name];
    if (kept.empty()) kept = model_.Floats("model." + name);
    return kept;
  }
  bool Has(const std::string& name) const { return model_.tensors.contains("model." + name); }
  Row TableRow(TokenId id) {
    const auto& table = Weights("embed_tokens.weight");
    const std::size_t n = Weights("norm.weight").size();
    const auto begin =
        table.begin() + static_cast<std::ptrdiff_t>(id) * static_cast<std::ptrdiff_t>(n);
    return {begin, begin + static_cast<std::ptrdiff_t>(n)};
  }
  Row Product(const std::string& name, const Row& x) {
    const auto& w = Weights(name);
    Row y(w.size() / x.size());
    for (std::size_t i = 0; i < w.size(); ++i) {
      y[i / x.size()] += static_cast<double>(w[i]) * x[i % x.size()];
    }
    return y;
  }
  Row Norm(const std::string& name, const Row& x) {
    const auto& gain = Weights(name);
    double sum = 0;
    for (const double v : x) sum += v * v;
    const double inverse = 1 / std::sqrt(sum / static_cast<double>(x.size()) + o_.eps);
    Row y(x);
    for (std::size_t c = 0; c < y.size(); ++c) {
      y[c] *= inverse * (static_cast<double>(gain[c]) + o_.norm_offset);
    }
    return y;
  }
  /// Head h of a row, normed and turned by its position.
  Row Head(const Row& row, std::size_t h, const std::string& norm, bool rotary, std::size_t pos) {
    const auto begin = row.begin() + static_cast<std::ptrdiff_t>(h * o_.head_dim);
    Row head(begin, begin + static_cast<std::ptrdiff_t>(o_.head_dim));
    if (o_.head_norms) head = Norm(norm, head);
    const std::size_t half = o_.rotary_dim / 2;
    for (std::size_t j = 0; rotary && j < half; ++j) {
      const double angle = static_cast<double>(pos) *
                           std::pow(o_.theta, -static_cast<double>(j) / static_cast<double>(half));
      const double a = head[j], b = head[j + half];
      head[j] = a * std::cos(angle) - b * std::sin(angle);
      head[j + half] = b * std::cos(angle) + a * std::sin(angle);
    }
    return head;
  }
  Row Attend(std::size_t i, const std::string& at, const Row& x) {
    const Row q = Product(at + "q_proj.weight", x), k = Product(at + "k_proj.weight", x);
    const Row v = Product(at + "v_proj.weight", x);
    const std::size_t pos = keys_[i].size() / o_.n_kv_heads;
    const bool rotary = o_.rotary.empty() || o_.rotary[i];
    for (std::size_t g = 0; g < o_.n_kv_heads; ++g) {
      keys_[i].push_back(Head(k, g, at + "k_norm.weight", rotary, pos));
      const auto begin = v.begin() + static_cast<std::ptrdiff_t>(g * o_.head_dim);
      values_[i].push_back(Row(begin, begin + static_cast<std::ptrdiff_t>(o_.head_dim)));
    }
    Row context;
    for (std::size_t h = 0; h < o_.n_heads; ++h) {
      const Row head = Head(q, h, at + "q_norm.weight", rotary, pos);
      const Row part = Mix(i, head, h / (o_.n_heads / o_.n_kv_heads), pos);
      context.insert(context.end(), part.begin(), part.end());
    }
    return Product(at + "o_proj.weight", context);
  }
  Row Mix(std::size_t i, const Row& q, std::size_t g, std::size_t pos) {
    const std::size_t window = o_.windows.empty() ? 0 : o_.windows[i];
    const std::size_t first = window == 0 || pos + 1 < window ? 0 : pos + 1 - window;
    Row scores;
    for (std::size_t p = first; p <= pos; ++p) {
      const Row& k = keys_[i][p * o_.n_kv_heads + g];
      const double s = o_.scale * std::inner_product(q.begin(), q.end(), k.begin(), 0.0);
      scores.push_back(std::exp(o_.attention_cap > 0 ? Cap(o_.attention_cap, s) : s));
    }
    const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
    Row mixed(o_.head_dim);
    for (std::size_t p = first; p <= pos; ++p) {
      const Row& v = values_[i][p * o_.n_kv_heads + g];
      for (std::size_t c = 0; c < mixed.size(); ++c) mixed[c] += scores[p - first] / sum * v[c];
    }
    return mixed;
  }
  Row Gated(const std::string& at, const Row& x) {
    Row gate = Product(at + "gate_proj.weight", x);
    const Row up = Product(at + "up_proj.weight", x);
    for (std::size_t c = 0; c < gate.size(); ++c) {
      const double g = gate[c];
      const double inner = 0.7978845608028654 * (g + 0.044715 * g * g * g);
      gate[c] = up[c] * (o_.gelu ? 0.5 * g * (1 + std::tanh(inner)) : g / (1 + std::exp(-g)));
    }
    return Product(at + "down_proj.weight", gate);
  }
  Row FeedForward(const std::string& at, const Row& x) {
    if (!Has(at + "gate.weight")) return Gated(at, x);
    Row p = Product(at + "gate.weight", x);
    double sum = 0;
    for (double& v : p) sum += v = std::exp(v);
    for (double& v : p) v /= sum;
    std::vector<std::size_t> order(p.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return p[a] > p[b]; });
    double used = 0;
    for (std::size_t k = 0; k < o_.n_used; ++k) used += p[order[k]];
    Row y(x.size());
    for (std::size_t k = 0; k < o_.n_used; ++k) {
      const Row one = Gated(at + "experts." + std::to_string(order[k]) + ".", x);
      const double weight = p[order[k]] / (o_.renormalise ? used : 1);
      for (std::size_t c = 0; c < y.size(); ++c) y[c] += weight * one[c];
    }
    return y;
  }
  void Layer(std::size_t i, Row& x) {
    const std::string at = "layers." + std::to_string(i) + ".";
    const std::string after = at + "post_attention_layernorm.weight";
    Row a = Attend(i, at + "self_attn.", Norm(at + "input_layernorm.weight", x));
    if (o_.sandwich) a = Norm(after, a);
    for (std::size_t c = 0; c < x.size(); ++c) x[c] += a[c];
    Row f = FeedForward(at + "mlp.",
                        Norm(o_.sandwich ? at + "pre_feedforward_layernorm.weight" : after, x));
    if (o_.sandwich) f = Norm(at + "post_feedforward_layernorm.weight", f);
    for (std::size_t c = 0; c < x.size(); ++c) x[c] += f[c];
  }

  const EditableModel& model_;
  Options o_;
  std::map<std::string, std::vector<float>> cache_;
  std::vector<std::vector<Row>> keys_, values_;  // [layer][position * n_kv_heads + head]
};

}  // namespace lattice::models
