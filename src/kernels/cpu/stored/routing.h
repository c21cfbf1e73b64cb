#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lattice::kernels {

/// What one token's router says: see ExpertChoice. Fills experts and weights, both as long as the
/// number of experts to use, in ranking order. `logits` has one entry for each expert, at least as
/// many as are used; `p` is scratch of that size. NaN logits rank last.
void RouteToken(std::span<const float> logits, bool renormalise, const float* expert_scale,
                std::span<float> p, std::span<std::uint32_t> experts, std::span<float> weights);

/// Tokens' choices ordered by expert, so that an expert sees its rows side by side. Views.
struct ExpertGroups {
  std::span<std::uint32_t> slot_of;   ///< [n_choices] the place of each choice
  std::span<std::uint32_t> token_of;  ///< [n_choices] the token of each place
  std::span<std::uint32_t> first;     ///< [n_experts + 1] where an expert's places begin
};

/// experts [n_choices]: choice i belongs to token i / n_used. Places of an expert are in rising
/// order of tokens.
void GroupByExpert(std::span<const std::uint32_t> experts, std::size_t n_used,
                   const ExpertGroups& groups);

}  // namespace lattice::kernels
