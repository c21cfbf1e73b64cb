#include "models/gguf_export.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "models/decoder_config.h"
#include "models/gguf_export_keys.h"
#include "models/gguf_names.h"

namespace lattice::models {
namespace {

using weights::TensorJob;
using weights::TensorView;

struct Target {
  std::string_view model_type, architecture;
  bool one_plus_norms = false;  ///< Files hold 1 + w.
};

constexpr Target kTargets[] = {{"llama", "llama"},
                               {"qwen2", "qwen2"},
                               {"qwen3", "qwen3"},
                               {"gemma2", "gemma2", true},
                               {"gemma3_text", "gemma3", true},
                               {"gemma3", "gemma3", true},
                               {"qwen3_5_text", "qwen35", true},
                               {"qwen3_5", "qwen35", true},
                               {"qwen3_5_moe_text", "qwen35moe", true},
                               {"qwen3_5_moe", "qwen35moe", true}};

Result<const Target*> FindTarget(const JsonView& outer, const TextConfig& text) {
  LATTICE_TRY(const std::string fallback, outer.StringOr("model_type", ""));
  LATTICE_TRY(const std::string type, text.json.StringOr("model_type", fallback));
  for (const Target& target : kTargets) {
    if (target.model_type == type) return &target;
  }
  return Error{ErrorCode::kUnsupported,
               outer.where() + "model_type '" + type +
                   "' cannot be written as a GGUF file; known: llama, qwen2, qwen3, gemma2, "
                   "gemma3, qwen3_5, qwen3_5_moe"};
}

/// How many heads and of which sizes, as far as layouts depend on them.
struct Layout {
  HeadShape heads;
  kernels::DeltaNetShape delta;  ///< Of hybrids.
  std::vector<bool> attention;   ///< [n_layers] Of hybrids.
  std::size_t n_layers = 0;
  bool tied = false;
  std::size_t n_experts = 0;
};

/// Row 2t + s of a head is its row s * d / 2 + t: pairs lie side by side.
std::vector<std::uint32_t> PairedRows(std::size_t n_heads, std::size_t head_dim) {
  std::vector<std::uint32_t> order(n_heads * head_dim);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t in_head = i % head_dim;
    order[i] = static_cast<std::uint32_t>(i - in_head + in_head % 2 * (head_dim / 2) + in_head / 2);
  }
  return order;
}

/// After `first` items in their places: value head j * n_key_heads + k is head k * r + j.
std::vector<std::uint32_t> ValueHeadOrder(const kernels::DeltaNetShape& delta, std::size_t first,
                                          std::size_t width) {
  const std::size_t r = delta.n_value_heads / delta.n_key_heads;
  std::vector<std::uint32_t> order(first + delta.n_value_heads * width);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i < first) {
      order[i] = static_cast<std::uint32_t>(i);
      continue;
    }
    const std::size_t head = (i - first) / width, j = head / delta.n_key_heads,
                      k = head % delta.n_key_heads;
    order[i] = static_cast<std::uint32_t>(first + (k * r + j) * width + (i - first) % width);
  }
  return order;
}

/// The name as a text model alone would have it; nothing for what such files leave out.
std::optional<std::string> PlainName(std::string_view name) {
  constexpr std::string_view kLeftOut[] = {"mtp.",
                                           "model.mtp.",
                                           "visual.",
                                           "model.visual.",
                                           "vision_tower.",
                                           "model.vision_tower.",
                                           "multi_modal_projector.",
                                           "model.multi_modal_projector."};
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  if (std::ranges::any_of(kLeftOut, begins) || name.ends_with("rotary_emb.inv_freq")) {
    return std::nullopt;
  }
  for (const std::string_view prefix :
       {"model.language_model.", "language_model.model.", "language_model.", "model."}) {
    if (begins(prefix)) return std::string(name.substr(prefix.size()));
  }
  return std::string(name);
}

/// "layers.0.mlp.experts.7.up_proj.weight": one of the experts of "layers.0.mlp.experts.up_proj".
struct ExpertName {
  std::string stacked;
  std::size_t expert = 0;
};

std::optional<ExpertName> SplitExpert(std::string_view plain) {
  constexpr std::string_view kExperts = ".mlp.experts.", kWeight = ".weight";
  const std::size_t at = plain.find(kExperts);
  if (at == plain.npos || !plain.ends_with(kWeight)) return std::nullopt;
  const std::size_t number = at + kExperts.size();
  ExpertName name;
  const auto read =
      std::from_chars(plain.data() + number, plain.data() + plain.size(), name.expert);
  if (read.ec != std::errc() || *read.ptr != '.') return std::nullopt;
  const auto rest = static_cast<std::size_t>(read.ptr + 1 - plain.data());
  name.stacked = std::string(plain.substr(0, number)) +
                 std::string(plain.substr(rest, plain.size() - rest - kWeight.size()));
  return name;
}

/// Experts that a folder keeps one by one, and such files in one tensor.
class ExpertStacks {
 public:
  /// Whether `view` is an expert's.
  bool Take(std::string_view plain, const TensorView& view) {
    const auto name = SplitExpert(plain);
    if (name) stacks_[name->stacked][name->expert] = view;
    return name.has_value();
  }

  Status Finish(std::string_view architecture, std::size_t n_experts,
                std::vector<TensorJob>& jobs) const {
    for (const auto& [name, experts] : stacks_) {
      const TensorView& first = experts.begin()->second;
      TensorJob job{.spec = {GgufTensorName(architecture, name), Dtype::kF32, first.shape},
                    .source = first};
      for (const auto& [i, view] : experts) {
        const bool alike = view.shape == first.shape && view.dtype == first.dtype;
        if (i >= n_experts || experts.size() != n_experts || !alike || !IsWeight(view.dtype)) {
          return Error{ErrorCode::kCorruptData,
                       "tensors '" + name + "': " + std::to_string(experts.size()) + " of " +
                           std::to_string(n_experts) + " experts, or of several shapes or types"};
        }
        if (&view != &first) job.more.push_back(view);
      }
      job.spec.shape.insert(job.spec.shape.begin(), n_experts);
      jobs.push_back(std::move(job));
    }
    return Ok();
  }

 private:
  std::map<std::string, std::map<std::size_t, TensorView>> stacks_;
};

class Exporter {
 public:
  Exporter(const Target& target, const Layout& layout) : target_(target), layout_(layout) {}

  /// Nothing for a tensor that is left out.
  Result<std::optional<TensorJob>> Export(std::string_view name, const TensorView& view) const {
    const std::optional<std::string> plain = PlainName(name);
    if (!plain || (*plain == "lm_head.weight" && layout_.tied)) return std::optional<TensorJob>();
    std::string theirs = GgufTensorName(target_.architecture, *plain);
    constexpr std::array<std::string_view, 3> kTop = {"token_embd.weight", "output_norm.weight",
                                                      "output.weight"};
    const bool known = theirs.starts_with("blk.") || std::ranges::find(kTop, theirs) != kTop.end();
    if (!known || !IsWeight(view.dtype)) {
      return Error{ErrorCode::kUnsupported,
                   "tensor '" + std::string(name) + "' has no place in a GGUF file of this family"};
    }
    TensorJob job{.spec = {std::move(theirs), Dtype::kF32, view.shape}, .source = view};
    LATTICE_TRY_VOID(Transform(job));
    return std::optional(std::move(job));
  }

 private:
  Status Transform(TensorJob& job) const {
    const std::string_view name = job.spec.name;
    const auto is = [&](std::string_view part) { return name.ends_with(part); };
    if (is(".ssm_conv1d.weight") || is(".ffn_gate_inp_shexp.weight")) {
      std::erase(job.spec.shape, std::size_t{1});
    }
    if (target_.one_plus_norms && is("norm.weight") && !is(".ssm_norm.weight")) job.added = 1;
    const HeadShape& heads = layout_.heads;
    if (target_.architecture == "llama") {
      if (is(".attn_q.weight")) return Rows(job, PairedRows(heads.n_heads, heads.head_dim));
      if (is(".attn_k.weight")) return Rows(job, PairedRows(heads.n_kv_heads, heads.head_dim));
    }
    return layout_.attention.empty() ? Ok() : TransformHybrid(job);
  }

  Status TransformHybrid(TensorJob& job) const {
    const std::string_view name = job.spec.name;
    const auto is = [&](std::string_view part) { return name.ends_with(part); };
    const kernels::DeltaNetShape& delta = layout_.delta;
    if (is(".ssm_a")) job.negated_exponential = true;
    if (delta.n_key_heads == delta.n_value_heads) return Ok();
    const std::size_t keys = 2 * delta.n_key_heads * delta.key_dim, dim = delta.value_dim;
    if (is(".attn_qkv.weight") || is(".ssm_conv1d.weight")) {
      return Rows(job, ValueHeadOrder(delta, keys, dim));
    }
    if (is(".attn_gate.weight")) return Rows(job, ValueHeadOrder(delta, 0, dim));
    if (is(".ssm_beta.weight") || is(".ssm_alpha.weight") || is(".ssm_a") || is(".ssm_dt.bias")) {
      return Rows(job, ValueHeadOrder(delta, 0, 1));
    }
    if (!is(".ssm_out.weight")) return Ok();
    job.column_order = ValueHeadOrder(delta, 0, dim);
    const bool fits = job.spec.shape.size() == 2 && job.spec.shape[1] == job.column_order.size();
    return fits ? Ok() : WrongSize(job, job.column_order.size(), "columns");
  }

  static Status Rows(TensorJob& job, std::vector<std::uint32_t> order) {
    job.row_order = std::move(order);
    const bool fits = !job.spec.shape.empty() && job.spec.shape.size() <= 2 &&
                      job.spec.shape[0] == job.row_order.size();
    return fits ? Ok() : WrongSize(job, job.row_order.size(), "rows");
  }

  static Error WrongSize(const TensorJob& job, std::size_t n, std::string_view what) {
    std::string shape;
    for (const std::size_t size : job.spec.shape) shape += " " + std::to_string(size);
    return Error{ErrorCode::kCorruptData, "tensor '" + job.spec.name + "' has the shape" + shape +
                                              ", expected " + std::to_string(n) + " " +
                                              std::string(what)};
  }

  const Target& target_;
  const Layout& layout_;
};

/// Layers of one kind have tensors of the same names, and the model what stands outside of them.
Status CheckComplete(const std::vector<TensorJob>& jobs, const Layout& layout) {
  std::vector<std::set<std::string>> layers(layout.n_layers);
  std::set<std::string> top;
  for (const TensorJob& job : jobs) {
    const auto layer = weights::LayerOfTensor(job.spec.name);
    if (!layer) {
      top.insert(job.spec.name);
    } else if (*layer >= layers.size()) {
      return Error{ErrorCode::kCorruptData, "tensor '" + job.spec.name + "' is of a layer beyond " +
                                                std::to_string(layers.size())};
    } else {
      layers[*layer].insert(job.spec.name.substr(job.spec.name.find('.', 4)));
    }
  }
  const auto missing = [](std::string_view name) {
    return Error{ErrorCode::kNotFound, "there is no tensor for '" + std::string(name) + "'"};
  };
  for (const char* name : {"token_embd.weight", "output_norm.weight"}) {
    if (!top.contains(name)) return missing(name);
  }
  if (!layout.tied && !top.contains("output.weight")) return missing("output.weight");
  std::map<bool, std::set<std::string>> kinds;  // all names of layers of a kind
  const auto kind = [&](std::size_t i) { return !layout.attention.empty() && layout.attention[i]; };
  for (std::size_t i = 0; i < layers.size(); ++i) {
    kinds[kind(i)].insert(layers[i].begin(), layers[i].end());
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    for (const std::string& name : kinds[kind(i)]) {
      if (!layers[i].contains(name)) return missing("blk." + std::to_string(i) + name);
    }
    if (layers[i].empty()) return missing("blk." + std::to_string(i));
  }
  return Ok();
}

Result<Layout> WriteKeys(const JsonView& outer, const TextConfig& text, const Target& target,
                         GgufExport& made) {
  weights::GgufPairs& pairs = made.plan.pairs;
  pairs.SetString("general.architecture", target.architecture);
  pairs.SetString("general.type", "model");
  Layout layout;
  std::vector<float> divisors;
  if (target.architecture.starts_with("qwen35")) {
    LATTICE_TRY(const Qwen35Config model, ReadQwen35Config(outer));
    LATTICE_TRY_VOID(WriteQwen35Keys(text, model, target.architecture, pairs));
    layout = {model.heads,         model.delta_net, model.attention,
              model.info.n_layers, model.tied_head, model.mixture.n_experts};
    made.vocab = model.info.vocab;
  } else {
    LATTICE_TRY(const DecoderConfig model, ReadDecoderConfig(outer));
    LATTICE_TRY_VOID(WriteDecoderKeys(text, model, target.architecture, pairs, divisors));
    layout = {model.heads, {}, {}, model.info.n_layers, model.tied_head, 0};
    made.vocab = model.info.vocab;
  }
  if (divisors.empty()) return layout;
  made.made.push_back(std::move(divisors));
  const std::vector<float>& values = made.made.back();
  const TensorView view{Dtype::kF32, {values.size()}, std::as_bytes(std::span(values))};
  made.plan.jobs.push_back(
      {.spec = {"rope_freqs.weight", Dtype::kF32, view.shape}, .source = view});
  return layout;
}

}  // namespace

Result<GgufExport> ExportGguf(const ModelFiles& files) {
  const JsonView outer = files.config();
  LATTICE_TRY(const TextConfig text, FindTextConfig(outer));
  LATTICE_TRY(const Target* target, FindTarget(outer, text));
  GgufExport made;
  LATTICE_TRY(const Layout layout, WriteKeys(outer, text, *target, made));
  const Exporter exporter(*target, layout);
  ExpertStacks stacks;
  for (const auto& [name, view] : files.checkpoint()->tensors()) {
    const auto plain = PlainName(name);
    if (plain && layout.n_experts != 0 && stacks.Take(*plain, view)) continue;
    LATTICE_TRY(std::optional<TensorJob> job, exporter.Export(name, view));
    if (job) made.plan.jobs.push_back(std::move(*job));
  }
  LATTICE_TRY_VOID(stacks.Finish(target->architecture, layout.n_experts, made.plan.jobs));
  LATTICE_TRY_VOID(CheckComplete(made.plan.jobs, layout));
  weights::SortJobs(made.plan.jobs);
  return made;
}

}  // namespace lattice::models
