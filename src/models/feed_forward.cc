#include "models/feed_forward.h"

#include <vector>

#include "models/attention.h"
#include "models/config.h"

namespace lattice::models {
namespace {

using kernels::Backend;
using kernels::Buffer;
using kernels::ExpertTensors;
using kernels::HostTensor;

constexpr std::size_t kMaxExperts = std::size_t{1} << 16;

/// Halves of [2n, inputs]: gates first.
ExpertTensors Split(const HostTensor& gate_up, const HostTensor& down) {
  HostTensor gate = gate_up, up = gate_up;
  gate.rows = up.rows = gate_up.rows / 2;
  gate.bytes = gate_up.bytes.first(gate_up.bytes.size() / 2);
  up.bytes = gate_up.bytes.last(gate_up.bytes.size() / 2);
  return {gate, up, down};
}

/// Tensors AT.gate_proj, AT.up_proj and AT.down_proj with all experts in each.
Result<std::vector<ExpertTensors>> StackedExperts(const Binder& binder, const std::string& at,
                                                  const std::string& suffix, std::size_t hidden,
                                                  const MixtureConfig& config) {
  const std::size_t n = config.n_experts, ffn = config.ffn_hidden;
  LATTICE_TRY(const auto gates, binder.Matrices(at + ".gate_proj" + suffix, n, ffn, hidden));
  LATTICE_TRY(const auto ups, binder.Matrices(at + ".up_proj" + suffix, n, ffn, hidden));
  LATTICE_TRY(const auto downs, binder.Matrices(at + ".down_proj" + suffix, n, hidden, ffn));
  std::vector<ExpertTensors> experts;
  for (std::size_t i = 0; i < n; ++i) experts.push_back({gates[i], ups[i], downs[i]});
  return experts;
}

Result<std::vector<ExpertTensors>> FusedExperts(const Binder& binder, const std::string& at,
                                                std::size_t hidden, const MixtureConfig& config) {
  const std::size_t n = config.n_experts, ffn = config.ffn_hidden;
  LATTICE_TRY(const auto gate_ups, binder.Matrices(at + ".gate_up_proj", n, 2 * ffn, hidden));
  LATTICE_TRY(const auto downs, binder.Matrices(at + ".down_proj", n, hidden, ffn));
  std::vector<ExpertTensors> experts;
  for (std::size_t i = 0; i < n; ++i) experts.push_back(Split(gate_ups[i], downs[i]));
  return experts;
}

Result<std::vector<ExpertTensors>> SingleExperts(const Binder& binder, const std::string& at,
                                                 std::size_t hidden, const MixtureConfig& config) {
  std::vector<ExpertTensors> experts;
  for (std::size_t i = 0; i < config.n_experts; ++i) {
    const std::string one = at + "." + std::to_string(i);
    ExpertTensors expert;
    LATTICE_TRY(expert.gate, binder.Matrix(one + ".gate_proj.weight", config.ffn_hidden, hidden));
    LATTICE_TRY(expert.up, binder.Matrix(one + ".up_proj.weight", config.ffn_hidden, hidden));
    LATTICE_TRY(expert.down, binder.Matrix(one + ".down_proj.weight", hidden, config.ffn_hidden));
    experts.push_back(expert);
  }
  return experts;
}

Result<std::vector<ExpertTensors>> FindExperts(const Binder& binder, const std::string& at,
                                               std::size_t hidden, const MixtureConfig& config) {
  const std::string fused = at + ".experts", stacked = at + ".switch_mlp";
  if (binder.Has(stacked + ".down_proj.weight")) {
    return StackedExperts(binder, stacked, ".weight", hidden, config);
  }
  if (binder.Has(fused + ".gate_proj")) {
    return StackedExperts(binder, fused, "", hidden, config);
  }
  if (binder.Has(fused + ".0.gate_proj.weight")) {
    return SingleExperts(binder, fused, hidden, config);
  }
  return FusedExperts(binder, fused, hidden, config);
}

/// y = down(activation(gate x) * up x), or x's own sum with `residual`.
void RunGated(Backend& backend, const FeedForward& ffn, const Buffer& normed,
              const Buffer* residual, Buffer& y, Workspace& workspace) {
  Buffer& hidden = workspace[kFfn];
  Buffer& gated = workspace[kGated];
  backend.GatedLinear(normed, *ffn.gate_up, ffn.activation, hidden, gated);
  backend.Linear(gated, *ffn.down, {.residual = residual}, y);
}

/// y = the chosen experts' sum and the shared expert's part.
void RunMixture(Backend& backend, const FeedForward& ffn, const Buffer& normed, Buffer& y,
                Workspace& workspace) {
  Buffer& router = workspace[kRouter];
  backend.Linear(normed, *ffn.router, {}, router);
  backend.Experts(normed, router, *ffn.experts, ffn.choice, y);
  if (ffn.gate_up == nullptr) return;
  Buffer& shared = workspace[kSecondBranch];
  Buffer& gate = workspace[kSharedGate];
  RunGated(backend, ffn, normed, nullptr, shared, workspace);
  backend.Linear(normed, *ffn.shared_gate, {}, gate);
  backend.AddSigmoidGated(shared, gate, 0, y);
}

}  // namespace

Result<MixtureConfig> ReadMixture(const JsonView& config, std::string_view used_key) {
  // The number of experts has two names in files of the same model: as it was first and as new
  // versions of transformers write it.
  constexpr std::string_view kName = "num_experts", kNewName = "num_local_experts";
  MixtureConfig mixture;
  const auto named = config.Find(kName), newly_named = config.Find(kNewName);
  LATTICE_TRY(mixture.n_experts,
              ReadSize(config, newly_named && !named ? kNewName : kName, kMaxExperts));
  if (named && newly_named) {
    LATTICE_TRY(const std::size_t same, ReadSize(config, kNewName, kMaxExperts));
    if (same != mixture.n_experts) {
      return newly_named->Complain("differs from 'num_experts'");
    }
  }
  LATTICE_TRY(mixture.n_used, ReadSize(config, used_key, mixture.n_experts));
  LATTICE_TRY(mixture.ffn_hidden, ReadSize(config, "moe_intermediate_size", kMaxFfnHidden));
  return mixture;
}

Result<FeedForward> BindFeedForward(const Binder& binder, const std::string& at, std::size_t hidden,
                                    std::size_t ffn_hidden, kernels::Activation activation,
                                    Bias bias) {
  FeedForward ffn;
  ffn.activation = activation;
  LATTICE_TRY(ffn.gate_up,
              binder.Linear({{at + ".gate_proj", ffn_hidden}, {at + ".up_proj", ffn_hidden}},
                            hidden, bias));
  LATTICE_TRY(ffn.down, binder.Linear({{at + ".down_proj", hidden}}, ffn_hidden, bias));
  return ffn;
}

Result<std::unique_ptr<kernels::ExpertWeights>> BindExperts(const Binder& binder,
                                                            const std::string& at,
                                                            std::size_t hidden,
                                                            const MixtureConfig& config) {
  LATTICE_TRY(const auto tensors, FindExperts(binder, at, hidden, config));
  auto experts = binder.Experts(tensors);
  if (!experts) return std::move(experts).error().Within(at + ".experts");
  return experts;
}

Result<FeedForward> BindMixture(const Binder& binder, const std::string& at, std::size_t hidden,
                                const MixtureConfig& config, kernels::Activation activation) {
  FeedForward ffn;
  if (config.shared_ffn_hidden > 0) {
    LATTICE_TRY(ffn, BindFeedForward(binder, at + ".shared_expert", hidden,
                                     config.shared_ffn_hidden, activation, Bias::kNone));
    LATTICE_TRY(ffn.shared_gate,
                binder.InFullPrecision().Row(at + ".shared_expert_gate.weight", hidden));
  }
  ffn.activation = activation;
  LATTICE_TRY(ffn.router, binder.InFullPrecision().Linear({{at + ".gate", config.n_experts}},
                                                          hidden, Bias::kNone));
  LATTICE_TRY(ffn.experts, BindExperts(binder, at, hidden, config));
  ffn.choice = {.n_used = config.n_used,
                .renormalise = config.renormalise,
                .activation = activation,
                .expert_scale = nullptr};
  return ffn;
}

void RunFeedForward(Backend& backend, const FeedForward& ffn, const Buffer& normed, Buffer& y,
                    Workspace& workspace) {
  LATTICE_DCHECK(!ffn.mixed());
  RunGated(backend, ffn, normed, nullptr, y, workspace);
}

void AddFeedForward(Backend& backend, const FeedForward& ffn, const Buffer& normed,
                    const PostNorm& post_norm, Buffer& x, Workspace& workspace) {
  if (!ffn.mixed() && post_norm.gain == nullptr) {
    RunGated(backend, ffn, normed, &x, x, workspace);
    return;
  }
  Buffer& y = workspace[kBranch];
  if (ffn.mixed()) {
    RunMixture(backend, ffn, normed, y, workspace);
  } else {
    RunGated(backend, ffn, normed, nullptr, y, workspace);
  }
  if (post_norm.gain != nullptr) {
    backend.RmsNormAdd(x, y, *post_norm.gain, post_norm.eps, x);
  } else {
    backend.AddScaled(x, &y, 1.0f);
  }
}

void AddBranch(Backend& backend, const Buffer& branch, const kernels::LinearWeights& out,
               const PostNorm& post_norm, Buffer& x, Workspace& workspace) {
  if (post_norm.gain == nullptr) {
    backend.Linear(branch, out, {.residual = &x}, x);
    return;
  }
  Buffer& y = workspace[kBranch];
  backend.Linear(branch, out, {}, y);
  backend.RmsNormAdd(x, y, *post_norm.gain, post_norm.eps, x);
}

}  // namespace lattice::models
