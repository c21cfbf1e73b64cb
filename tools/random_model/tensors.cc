#include "tensors.h"

#include <cmath>
#include <optional>
#include <string_view>

#include "base/json.h"

namespace lattice::random_model {
namespace {

namespace json = boost::json;

/// Matrices keep the size of what they read; gains are near 1, everything else near 0.
class TensorList {
 public:
  /// `gain_centre`: what a norm's stored weight is near (0 where the file holds w - 1).
  explicit TensorList(float gain_centre) : gain_centre_(gain_centre) {}

  void Matrix(const std::string& name, std::size_t rows, std::size_t cols) {
    plans_.push_back({name, {rows, cols}, 0, 1.0f / std::sqrt(static_cast<float>(cols)), false});
  }
  void Table(const std::string& name, std::size_t rows, std::size_t cols) {
    plans_.push_back({name, {rows, cols}, 0, 0.05f, false});
  }
  void Vector(const std::string& name, std::size_t n, float centre) {
    plans_.push_back({name, {n}, centre, 0.05f, true});
  }
  void Gain(const std::string& name, std::size_t n) { Vector(name + ".weight", n, gain_centre_); }
  void Dense(const std::string& name, std::size_t outputs, std::size_t inputs) {
    Matrix(name + ".weight", outputs, inputs);
    Vector(name + ".bias", outputs, 0);
  }
  void LayerNorm(const std::string& name, std::size_t n) {
    Vector(name + ".weight", n, 1);
    Vector(name + ".bias", n, 0);
  }
  void Other(TensorPlan plan) { plans_.push_back(std::move(plan)); }
  std::vector<TensorPlan> Take() { return std::move(plans_); }

 private:
  float gain_centre_;
  std::vector<TensorPlan> plans_;
};

/// Sizes of a config by key; remembers the first that is missing.
class Sizes {
 public:
  explicit Sizes(const json::object& config) : value_(config), config_(value_, "config.json: ") {}

  std::size_t operator()(std::string_view key) {
    auto view = config_.Get(key);
    auto n = view ? view->Int(1, std::int64_t{1} << 40) : Result<std::int64_t>(view.error());
    if (!n && !failed_) failed_ = n.error();
    return n ? static_cast<std::size_t>(*n) : 1;
  }
  bool Has(std::string_view key) const { return config_.Find(key).has_value(); }
  bool Flag(std::string_view key) const {
    const auto flag = config_.BoolOr(key, false);
    return flag && *flag;
  }
  std::string Text(std::string_view key) const {
    auto text = config_.StringOr(key, "");
    return text ? *text : "";
  }
  bool ClassEndsWith(std::string_view suffix) const {
    const auto classes = config_.Find("architectures");
    if (!classes || !classes->IsArray() || classes->value().as_array().empty()) return false;
    const json::value& first = classes->value().as_array()[0];
    return first.is_string() && std::string_view(first.as_string()).ends_with(suffix);
  }
  const std::optional<Error>& failed() const { return failed_; }

 private:
  json::value value_;
  JsonView config_;
  std::optional<Error> failed_;
};

void ListBert(Sizes& size, bool roberta, TensorList& t) {
  const std::size_t hidden = size("hidden_size"), ffn = size("intermediate_size");
  const bool scores = size.ClassEndsWith("ForSequenceClassification");
  const std::string p = !scores ? "" : roberta ? "roberta." : "bert.";
  t.Table(p + "embeddings.word_embeddings.weight", size("vocab_size"), hidden);
  t.Table(p + "embeddings.position_embeddings.weight", size("max_position_embeddings"), hidden);
  t.Table(p + "embeddings.token_type_embeddings.weight", size("type_vocab_size"), hidden);
  t.LayerNorm(p + "embeddings.LayerNorm", hidden);
  for (std::size_t i = 0; i < size("num_hidden_layers"); ++i) {
    const std::string at = p + "encoder.layer." + std::to_string(i) + ".";
    for (const char* part : {"query", "key", "value"}) {
      t.Dense(at + "attention.self." + part, hidden, hidden);
    }
    t.Dense(at + "attention.output.dense", hidden, hidden);
    t.LayerNorm(at + "attention.output.LayerNorm", hidden);
    t.Dense(at + "intermediate.dense", ffn, hidden);
    t.Dense(at + "output.dense", hidden, ffn);
    t.LayerNorm(at + "output.LayerNorm", hidden);
  }
  if (!scores) return;
  t.Dense(roberta ? "classifier.dense" : "bert.pooler.dense", hidden, hidden);
  t.Dense(roberta ? "classifier.out_proj" : "classifier", 1, hidden);
}

void ListModernBert(Sizes& size, TensorList& t) {
  const std::size_t hidden = size("hidden_size"), ffn = size("intermediate_size");
  t.Table("embeddings.tok_embeddings.weight", size("vocab_size"), hidden);
  t.Gain("embeddings.norm", hidden);
  for (std::size_t i = 0; i < size("num_hidden_layers"); ++i) {
    const std::string at = "layers." + std::to_string(i) + ".";
    if (i > 0) t.Gain(at + "attn_norm", hidden);
    t.Matrix(at + "attn.Wqkv.weight", 3 * hidden, hidden);
    t.Matrix(at + "attn.Wo.weight", hidden, hidden);
    t.Gain(at + "mlp_norm", hidden);
    t.Matrix(at + "mlp.Wi.weight", 2 * ffn, hidden);
    t.Matrix(at + "mlp.Wo.weight", hidden, ffn);
  }
  t.Gain("final_norm", hidden);
}

void ListAttention(Sizes& size, const std::string& at, bool head_norms, std::size_t q_parts,
                   TensorList& t) {
  const std::size_t hidden = size("hidden_size"), dim = size("head_dim");
  const std::size_t q = size("num_attention_heads") * dim, kv = size("num_key_value_heads") * dim;
  if (head_norms) {
    t.Gain(at + "self_attn.q_norm", dim);
    t.Gain(at + "self_attn.k_norm", dim);
  }
  t.Matrix(at + "self_attn.q_proj.weight", q_parts * q, hidden);
  t.Matrix(at + "self_attn.k_proj.weight", kv, hidden);
  t.Matrix(at + "self_attn.v_proj.weight", kv, hidden);
  t.Matrix(at + "self_attn.o_proj.weight", hidden, q);
}

void ListDeltaNet(Sizes& size, const std::string& at, TensorList& t) {
  const std::size_t hidden = size("hidden_size"), heads = size("linear_num_value_heads");
  const std::size_t value = heads * size("linear_value_head_dim");
  const std::size_t channels =
      2 * size("linear_num_key_heads") * size("linear_key_head_dim") + value;
  const std::string p = at + "linear_attn.";
  t.Matrix(p + "in_proj_qkv.weight", channels, hidden);
  t.Matrix(p + "in_proj_z.weight", value, hidden);
  t.Matrix(p + "in_proj_b.weight", heads, hidden);
  t.Matrix(p + "in_proj_a.weight", heads, hidden);
  t.Other({p + "conv1d.weight", {channels, 1, size("linear_conv_kernel_dim")}, 0, 0.5f, true});
  t.Vector(p + "A_log", heads, 0.5f);
  t.Vector(p + "dt_bias", heads, -2);
  t.Vector(p + "norm.weight", size("linear_value_head_dim"), 1);
  t.Matrix(p + "out_proj.weight", hidden, value);
}

void ListSwiGlu(const std::string& at, std::size_t hidden, std::size_t ffn, TensorList& t) {
  t.Matrix(at + "gate_proj.weight", ffn, hidden);
  t.Matrix(at + "up_proj.weight", ffn, hidden);
  t.Matrix(at + "down_proj.weight", hidden, ffn);
}

void ListExperts(Sizes& size, const std::string& at, TensorList& t) {
  const std::size_t hidden = size("hidden_size"), n = size("num_experts");
  const std::size_t ffn = size("moe_intermediate_size");
  const auto stack = [&](const char* name, std::size_t rows, std::size_t cols) {
    const float spread = 1.0f / std::sqrt(static_cast<float>(cols));
    t.Other({at + "mlp.experts." + name, {n, rows, cols}, 0, spread, false});
  };
  t.Matrix(at + "mlp.gate.weight", n, hidden);
  stack("gate_up_proj", 2 * ffn, hidden);
  stack("down_proj", hidden, ffn);
  ListSwiGlu(at + "mlp.shared_expert.", hidden, size("shared_expert_intermediate_size"), t);
  t.Matrix(at + "mlp.shared_expert_gate.weight", 1, hidden);
}

void ListDecoder(Sizes& size, std::string_view type, TensorList& t) {
  const std::size_t hidden = size("hidden_size"), interval = 4;
  const bool hybrid = type.starts_with("qwen3_5"), sandwich = type.starts_with("gemma3");
  const std::string p = size.ClassEndsWith("Model") ? "" : "model.";
  t.Table(p + "embed_tokens.weight", size("vocab_size"), hidden);
  for (std::size_t i = 0; i < size("num_hidden_layers"); ++i) {
    const std::string at = p + "layers." + std::to_string(i) + ".";
    t.Gain(at + "input_layernorm", hidden);
    t.Gain(at + "post_attention_layernorm", hidden);
    if (sandwich) t.Gain(at + "pre_feedforward_layernorm", hidden);
    if (sandwich) t.Gain(at + "post_feedforward_layernorm", hidden);
    if (hybrid && (i + 1) % interval != 0) {
      ListDeltaNet(size, at, t);
    } else {
      ListAttention(size, at, /*head_norms=*/type != "llama", hybrid ? 2 : 1, t);
    }
    if (size.Has("num_experts")) {
      ListExperts(size, at, t);
    } else {
      ListSwiGlu(at + "mlp.", hidden, size("intermediate_size"), t);
    }
  }
  t.Gain(p + "norm", hidden);
  if (!p.empty() && !size.Flag("tie_word_embeddings")) {
    t.Matrix("lm_head.weight", size("vocab_size"), hidden);
  }
}

}  // namespace

Result<std::vector<TensorPlan>> PlanTensors(const json::object& config) {
  Sizes size(config);
  const std::string type = size.Text("model_type");
  const bool offset = type.starts_with("qwen3_5") || type.starts_with("gemma3");
  TensorList list(offset ? 0.0f : 1.0f);
  if (type == "bert" || type == "xlm-roberta") {
    ListBert(size, type == "xlm-roberta", list);
  } else if (type == "modernbert") {
    ListModernBert(size, list);
  } else if (type == "llama" || type == "qwen3" || type == "gemma3_text" ||
             type == "qwen3_5_text" || type == "qwen3_5_moe_text") {
    ListDecoder(size, type, list);
  } else {
    return Error{ErrorCode::kUnsupported,
                 "config.json: no tensors known for model_type '" + type + "'"};
  }
  if (size.failed()) return *size.failed();
  return list.Take();
}

}  // namespace lattice::random_model
