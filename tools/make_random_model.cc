// Writes a model folder of a known shape with random weights, to measure speed where the real files
// are not at hand: time depends on the sizes, not on the numbers.
#include <CLI/CLI.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "base/files.h"
#include "numeric/float16.h"
#include "weights/safetensors_writer.h"

namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using lattice::Dtype;
using lattice::Status;
using lattice::weights::SafetensorsWriter;
using lattice::weights::TensorSpec;

enum class Kind { kBert, kXlmRoberta, kModernBert, kQwen3 };

struct Shape {
  const char* name;
  Kind kind;
  std::size_t hidden, layers, heads, kv_heads, head_dim, ffn, vocab, positions;
  const char* pooling;
  const char* head;  ///< Class suffix: "Model" or "ForSequenceClassification".
};

constexpr Shape kShapes[] = {
    {"tiny", Kind::kBert, 48, 2, 4, 4, 12, 96, 800, 128, "mean", "Model"},
    {"minilm", Kind::kBert, 384, 6, 12, 12, 32, 1536, 30522, 512, "mean", "Model"},
    {"bge-small", Kind::kBert, 384, 12, 12, 12, 32, 1536, 30522, 512, "cls", "Model"},
    {"bge-base", Kind::kBert, 768, 12, 12, 12, 64, 3072, 30522, 512, "cls", "Model"},
    {"bge-large", Kind::kBert, 1024, 24, 16, 16, 64, 4096, 30522, 512, "cls", "Model"},
    {"minilm-reranker", Kind::kBert, 384, 6, 12, 12, 32, 1536, 30522, 512, "cls",
     "ForSequenceClassification"},
    {"xlm-roberta-base", Kind::kXlmRoberta, 768, 12, 12, 12, 64, 3072, 250002, 514, "mean",
     "Model"},
    {"bge-m3", Kind::kXlmRoberta, 1024, 24, 16, 16, 64, 4096, 250002, 8194, "cls", "Model"},
    {"bge-reranker-base", Kind::kXlmRoberta, 768, 12, 12, 12, 64, 3072, 250002, 514, "cls",
     "ForSequenceClassification"},
    {"modernbert-base", Kind::kModernBert, 768, 22, 12, 12, 64, 1152, 50368, 8192, "cls", "Model"},
    {"qwen3-embedding-0.6b", Kind::kQwen3, 1024, 28, 16, 8, 128, 3072, 151669, 32768, "lasttoken",
     "Model"},
};

/// Numbers of about normal distribution from a 64-bit counter (splitmix64, sum of four uniforms).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  float Next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    std::int64_t sum = -2 * 65535;
    for (int i = 0; i < 64; i += 16) sum += static_cast<std::int64_t>(z >> i & 0xFFFF);
    return static_cast<float>(sum) * (1.7320508f / 65536.0f);
  }

 private:
  std::uint64_t state_;
};

class TensorList {
 public:
  explicit TensorList(Dtype dtype) : dtype_(dtype) {}
  void Matrix(const std::string& name, std::size_t rows, std::size_t cols) {
    specs_.push_back({name, dtype_, {rows, cols}});
  }
  void Vector(const std::string& name, std::size_t n) { specs_.push_back({name, dtype_, {n}}); }
  void Dense(const std::string& name, std::size_t outputs, std::size_t inputs) {
    Matrix(name + ".weight", outputs, inputs);
    Vector(name + ".bias", outputs);
  }
  void LayerNorm(const std::string& name, std::size_t n) {
    Vector(name + ".weight", n);
    Vector(name + ".bias", n);
  }
  const std::vector<TensorSpec>& specs() const { return specs_; }

 private:
  Dtype dtype_;
  std::vector<TensorSpec> specs_;
};

bool Classifies(const Shape& s) { return std::string_view(s.head) == "ForSequenceClassification"; }

void ListBert(const Shape& s, TensorList& t) {
  const bool roberta = s.kind == Kind::kXlmRoberta;
  const std::string p = !Classifies(s) ? "" : roberta ? "roberta." : "bert.";
  t.Matrix(p + "embeddings.word_embeddings.weight", s.vocab, s.hidden);
  t.Matrix(p + "embeddings.position_embeddings.weight", s.positions, s.hidden);
  t.Matrix(p + "embeddings.token_type_embeddings.weight", roberta ? 1 : 2, s.hidden);
  t.LayerNorm(p + "embeddings.LayerNorm", s.hidden);
  for (std::size_t i = 0; i < s.layers; ++i) {
    const std::string at = p + "encoder.layer." + std::to_string(i) + ".";
    for (const char* part : {"query", "key", "value"}) {
      t.Dense(at + "attention.self." + part, s.hidden, s.hidden);
    }
    t.Dense(at + "attention.output.dense", s.hidden, s.hidden);
    t.LayerNorm(at + "attention.output.LayerNorm", s.hidden);
    t.Dense(at + "intermediate.dense", s.ffn, s.hidden);
    t.Dense(at + "output.dense", s.hidden, s.ffn);
    t.LayerNorm(at + "output.LayerNorm", s.hidden);
  }
  if (!Classifies(s)) return;
  t.Dense(roberta ? "classifier.dense" : "bert.pooler.dense", s.hidden, s.hidden);
  t.Dense(roberta ? "classifier.out_proj" : "classifier", 1, s.hidden);
}

void ListModernBert(const Shape& s, TensorList& t) {
  t.Matrix("embeddings.tok_embeddings.weight", s.vocab, s.hidden);
  t.Vector("embeddings.norm.weight", s.hidden);
  for (std::size_t i = 0; i < s.layers; ++i) {
    const std::string at = "layers." + std::to_string(i) + ".";
    if (i > 0) t.Vector(at + "attn_norm.weight", s.hidden);
    t.Matrix(at + "attn.Wqkv.weight", 3 * s.hidden, s.hidden);
    t.Matrix(at + "attn.Wo.weight", s.hidden, s.hidden);
    t.Vector(at + "mlp_norm.weight", s.hidden);
    t.Matrix(at + "mlp.Wi.weight", 2 * s.ffn, s.hidden);
    t.Matrix(at + "mlp.Wo.weight", s.hidden, s.ffn);
  }
  t.Vector("final_norm.weight", s.hidden);
}

void ListQwen3(const Shape& s, TensorList& t) {
  t.Matrix("embed_tokens.weight", s.vocab, s.hidden);
  for (std::size_t i = 0; i < s.layers; ++i) {
    const std::string at = "layers." + std::to_string(i) + ".";
    t.Vector(at + "input_layernorm.weight", s.hidden);
    t.Vector(at + "post_attention_layernorm.weight", s.hidden);
    t.Vector(at + "self_attn.q_norm.weight", s.head_dim);
    t.Vector(at + "self_attn.k_norm.weight", s.head_dim);
    t.Matrix(at + "self_attn.q_proj.weight", s.heads * s.head_dim, s.hidden);
    t.Matrix(at + "self_attn.k_proj.weight", s.kv_heads * s.head_dim, s.hidden);
    t.Matrix(at + "self_attn.v_proj.weight", s.kv_heads * s.head_dim, s.hidden);
    t.Matrix(at + "self_attn.o_proj.weight", s.hidden, s.heads * s.head_dim);
    t.Matrix(at + "mlp.gate_proj.weight", s.ffn, s.hidden);
    t.Matrix(at + "mlp.up_proj.weight", s.ffn, s.hidden);
    t.Matrix(at + "mlp.down_proj.weight", s.hidden, s.ffn);
  }
  t.Vector("norm.weight", s.hidden);
}

json::object Config(const Shape& s) {
  constexpr const char* kTypes[] = {"bert", "xlm-roberta", "modernbert", "qwen3"};
  constexpr const char* kClasses[] = {"Bert", "XLMRoberta", "ModernBert", "Qwen3"};
  const auto kind = static_cast<std::size_t>(s.kind);
  json::object c = {{"model_type", kTypes[kind]},
                    {"architectures", json::array{std::string(kClasses[kind]) + s.head}},
                    {"vocab_size", s.vocab},
                    {"hidden_size", s.hidden},
                    {"num_hidden_layers", s.layers},
                    {"num_attention_heads", s.heads},
                    {"intermediate_size", s.ffn},
                    {"max_position_embeddings", s.positions}};
  const auto add = [&](const json::object& more) {
    for (const auto& [key, value] : more) c[key] = value;
  };
  if (s.kind == Kind::kBert) {
    add({{"hidden_act", "gelu"}, {"layer_norm_eps", 1e-12}, {"type_vocab_size", 2}});
  } else if (s.kind == Kind::kXlmRoberta) {
    add({{"hidden_act", "gelu"}, {"layer_norm_eps", 1e-5}, {"type_vocab_size", 1}});
    add({{"pad_token_id", 1}});
  } else if (s.kind == Kind::kModernBert) {
    add({{"hidden_activation", "gelu"}, {"norm_eps", 1e-5}, {"local_attention", 128}});
    add({{"global_attn_every_n_layers", 3}, {"global_rope_theta", 160000.0}});
    add({{"local_rope_theta", 10000.0}});
  } else {
    add({{"hidden_act", "silu"}, {"rms_norm_eps", 1e-6}, {"rope_theta", 1e6}});
    add({{"num_key_value_heads", s.kv_heads}, {"head_dim", s.head_dim}});
    add({{"tie_word_embeddings", true}});
  }
  if (Classifies(s)) add({{"id2label", {{"0", "LABEL_0"}}}});
  return c;
}

/// Matrices keep the size of what they read; gains are near 1, everything else near 0.
float Centre(const TensorSpec& t) {
  const bool gain = t.shape.size() == 1 && t.name.ends_with(".weight");
  return gain ? 1.0f : 0.0f;
}
float Spread(const TensorSpec& t) {
  if (t.shape.size() == 1) return 0.05f;
  if (t.name.find("embed") != std::string::npos) return 0.05f;
  return 1.0f / std::sqrt(static_cast<float>(t.shape[1]));
}

Status AppendRandom(const TensorSpec& t, Random& random, SafetensorsWriter& writer) {
  std::size_t left = 1;
  for (const std::size_t n : t.shape) left *= n;
  std::vector<float> wide(std::min<std::size_t>(left, 1 << 16));
  std::vector<std::uint16_t> narrow(wide.size());
  while (left > 0) {
    const std::size_t n = std::min(left, wide.size());
    for (std::size_t i = 0; i < n; ++i) wide[i] = Centre(t) + Spread(t) * random.Next();
    for (std::size_t i = 0; i < n && t.dtype != Dtype::kF32; ++i) {
      narrow[i] =
          t.dtype == Dtype::kBf16 ? lattice::F32ToBf16(wide[i]) : lattice::F32ToF16(wide[i]);
    }
    const auto bytes = t.dtype == Dtype::kF32 ? std::as_bytes(std::span(wide).first(n))
                                              : std::as_bytes(std::span(narrow).first(n));
    LATTICE_TRY_VOID(writer.Append(bytes));
    left -= n;
  }
  return lattice::Ok();
}

Status WriteText(const fs::path& file, const json::value& value) {
  return lattice::WriteFileAtomically(file, json::serialize(value) + "\n");
}

/// The files of an embedding pipeline: pooling, then unit length.
Status WritePipeline(const Shape& s, const fs::path& folder) {
  fs::create_directories(folder / "1_Pooling");
  const std::string type = "sentence_transformers.models.";
  const auto module = [&](std::size_t i, const char* path, const char* name) {
    return json::object{
        {"idx", i}, {"name", std::to_string(i)}, {"path", path}, {"type", type + name}};
  };
  LATTICE_TRY_VOID(
      WriteText(folder / "modules.json",
                json::array{module(0, "", "Transformer"), module(1, "1_Pooling", "Pooling"),
                            module(2, "2_Normalize", "Normalize")}));
  return WriteText(
      folder / "1_Pooling/config.json",
      json::object{{"word_embedding_dimension", s.hidden}, {"pooling_mode", s.pooling}});
}

Status WriteModel(const Shape& s, const fs::path& folder, Dtype dtype, std::uint64_t seed) {
  TensorList tensors(dtype);
  if (s.kind == Kind::kModernBert) {
    ListModernBert(s, tensors);
  } else if (s.kind == Kind::kQwen3) {
    ListQwen3(s, tensors);
  } else {
    ListBert(s, tensors);
  }
  fs::create_directories(folder);
  LATTICE_TRY_VOID(WriteText(folder / "config.json", Config(s)));
  if (!Classifies(s)) LATTICE_TRY_VOID(WritePipeline(s, folder));
  LATTICE_TRY(SafetensorsWriter writer,
              SafetensorsWriter::Create(folder / "model.safetensors", tensors.specs()));
  Random random(seed);
  for (const TensorSpec& tensor : tensors.specs()) {
    LATTICE_TRY_VOID(AppendRandom(tensor, random, writer));
  }
  return writer.Finish();
}

void CopyTokenizer(const fs::path& from, const fs::path& to) {
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
                           "vocab.txt", "tokenizer.model", "sentencepiece.bpe.model"}) {
    if (!fs::exists(from / name)) continue;
    fs::copy_file(from / name, to / name, fs::copy_options::overwrite_existing);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Writes a model folder of a known shape with random weights.");
  std::string shape_name, folder, tokenizer_from, dtype_name = "f32";
  std::uint64_t seed = 1;
  std::vector<std::string> names;
  for (const Shape& shape : kShapes) names.emplace_back(shape.name);
  app.add_option("shape", shape_name)->required()->check(CLI::IsMember(names));
  app.add_option("folder", folder)->required();
  app.add_option("--seed", seed);
  app.add_option("--dtype", dtype_name)->check(CLI::IsMember({"f32", "f16", "bf16"}));
  app.add_option("--tokenizer-from", tokenizer_from, "Folder whose tokenizer files are copied")
      ->check(CLI::ExistingDirectory);
  CLI11_PARSE(app, argc, argv);

  const Dtype dtype = dtype_name == "f32"   ? Dtype::kF32
                      : dtype_name == "f16" ? Dtype::kF16
                                            : Dtype::kBf16;
  for (const Shape& shape : kShapes) {
    if (shape_name != shape.name) continue;
    if (const Status done = WriteModel(shape, folder, dtype, seed); !done) {
      std::cerr << done.error().message << "\n";
      return 1;
    }
  }
  if (!tokenizer_from.empty()) CopyTokenizer(tokenizer_from, folder);
  return 0;
}
