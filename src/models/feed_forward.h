#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/api/backend.h"
#include "lattice/result.h"
#include "models/binder.h"
#include "models/model.h"

namespace lattice::models {

/// A mixture of gated feed-forward layers, as a config.json describes it.
struct MixtureConfig {
  std::size_t n_experts = 0;  ///< 0: there is no mixture.
  std::size_t n_used = 0;
  std::size_t ffn_hidden = 0;         ///< Of one expert.
  std::size_t shared_ffn_hidden = 0;  ///< Of the expert that every token uses; 0: there is none.
  bool renormalise = true;
};

/// num_experts, `used_key`, moe_intermediate_size; n_used <= n_experts.
Result<MixtureConfig> ReadMixture(const JsonView& config,
                                  std::string_view used_key = "num_experts_per_tok");

/// down(activation(gate x) * up x), or a mixture of such.
struct FeedForward {
  kernels::Activation activation = kernels::Activation::kSilu;
  /// The layer, or in a mixture the shared expert; null: there is none.
  std::unique_ptr<kernels::LinearWeights> gate_up, down;
  // Of a mixture.
  std::unique_ptr<kernels::LinearWeights> router;
  std::unique_ptr<kernels::LinearWeights> shared_gate;  ///< [1, hidden]
  std::unique_ptr<kernels::ExpertWeights> experts;
  kernels::ExpertChoice choice;

  bool mixed() const { return experts != nullptr; }
};

/// Tensors AT.gate_proj, AT.up_proj, AT.down_proj.
Result<FeedForward> BindFeedForward(const Binder& binder, const std::string& at, std::size_t hidden,
                                    std::size_t ffn_hidden, kernels::Activation activation,
                                    Bias bias);

/// Tensors AT.gate (the router) and, in any of the spellings that files have, AT.experts and
/// AT.shared_expert.
Result<FeedForward> BindMixture(const Binder& binder, const std::string& at, std::size_t hidden,
                                const MixtureConfig& config, kernels::Activation activation);

/// The experts alone: one tensor for gates and ups or one each, stacked or expert by expert.
Result<std::unique_ptr<kernels::ExpertWeights>> BindExperts(const Binder& binder,
                                                            const std::string& at,
                                                            std::size_t hidden,
                                                            const MixtureConfig& config);

/// y = the layer's answer to `normed`, for layers that are no mixture. Uses kFfn and kGated.
void RunFeedForward(kernels::Backend& backend, const FeedForward& ffn,
                    const kernels::Buffer& normed, kernels::Buffer& y, Workspace& workspace);

/// x += [post_norm of] the layer's answer to `normed`. Uses the slots kFfn, kGated, kBranch,
/// kRouter, kSharedGate and kSecondBranch.
struct PostNorm {
  const kernels::Vector* gain = nullptr;  ///< Null: none.
  float eps = 0.0f;
};
void AddFeedForward(kernels::Backend& backend, const FeedForward& ffn,
                    const kernels::Buffer& normed, const PostNorm& post_norm, kernels::Buffer& x,
                    Workspace& workspace);

/// x += [post_norm of] out * branch.
void AddBranch(kernels::Backend& backend, const kernels::Buffer& branch,
               const kernels::LinearWeights& out, const PostNorm& post_norm, kernels::Buffer& x,
               Workspace& workspace);

}  // namespace lattice::models
