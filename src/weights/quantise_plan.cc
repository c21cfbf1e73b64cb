#include "weights/quantise_plan.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

namespace lattice::weights {
namespace {

constexpr std::string_view kFileType = "general.file_type";
constexpr std::string_view kVersion = "general.quantization_version";
constexpr std::uint32_t kQuantisationVersion = 2;

bool IsCopied(std::string_view key) {
  constexpr std::array kLeft = {std::string_view("general.alignment"), kFileType, kVersion};
  return std::ranges::find(kLeft, key) == kLeft.end() && !key.starts_with("split.") &&
         !key.starts_with("quantize.");
}

/// What llama.cpp calls files whose weights are mostly of that type: a remark for people.
std::uint32_t FileTypeOf(Dtype type, bool pure) {
  switch (type) {
    case Dtype::kF16:
      return 1;
    case Dtype::kQ4_0:
      return 2;
    case Dtype::kQ4_1:
      return 3;
    case Dtype::kQ8_0:
      return 7;
    case Dtype::kQ5_0:
      return 8;
    case Dtype::kQ5_1:
      return 9;
    case Dtype::kQ4K:
      return pure ? 14 : 15;
    case Dtype::kQ5K:
      return pure ? 16 : 17;
    case Dtype::kQ6K:
      return 18;
    case Dtype::kBf16:
      return 32;
    default:
      return 0;
  }
}

}  // namespace

std::size_t GgufPlan::tensor_bytes() const {
  std::size_t bytes = 0;
  for (const TensorJob& job : jobs) bytes += StorageBytes(job.spec.dtype, job.n_elements());
  return bytes;
}

void SortJobs(std::vector<TensorJob>& jobs) {
  // An absent layer is before the first.
  std::ranges::stable_sort(jobs, {}, [](const TensorJob& job) {
    return std::tuple(LayerOfTensor(job.spec.name), std::string_view(job.spec.name));
  });
}

GgufPlan PlanGgufCopy(const Checkpoint& checkpoint) {
  GgufPlan plan;
  for (const auto& [key, value] : checkpoint.gguf()->values()) {
    if (IsCopied(key)) plan.pairs.Set(key, value);
  }
  for (const auto& [name, view] : checkpoint.tensors()) {
    plan.jobs.push_back({.spec = {name, view.dtype, view.shape}, .source = view});
  }
  SortJobs(plan.jobs);
  return plan;
}

QuantiseNotes ApplyPolicy(QuantisePolicy policy, GgufPlan& plan) {
  policy.tied_output = true;
  policy.n_blocks = 0;
  for (const TensorJob& job : plan.jobs) {
    if (job.spec.name == "output.weight") policy.tied_output = false;
    if (const auto layer = LayerOfTensor(job.spec.name)) {
      policy.n_blocks = std::max(policy.n_blocks, *layer + 1);
    }
  }
  QuantiseNotes notes;
  for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
    TensorJob& job = plan.jobs[i];
    const auto choice = ChooseQuantisedType(policy, job.spec.name, job.spec.shape);
    if (!choice || !IsWeight(job.source.dtype)) continue;
    job.spec.dtype = choice->type;
    if (choice->fell_back) notes.fell_back.push_back(i);
    const bool again = IsBlock(job.source.dtype) && IsBlock(choice->type);
    if (again && job.source.dtype != choice->type) notes.requantised.push_back(i);
  }
  plan.pairs.SetUint32(kVersion, kQuantisationVersion);
  plan.pairs.SetUint32(kFileType, FileTypeOf(policy.type, policy.pure));
  return notes;
}

}  // namespace lattice::weights
