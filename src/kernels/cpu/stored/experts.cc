#include "kernels/cpu/stored/experts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kernels/cpu/host_tensor.h"
#include "kernels/cpu/row_split.h"
#include "kernels/cpu/stored/items.h"
#include "kernels/cpu/stored/routing.h"
#include "lattice/check.h"

namespace lattice::kernels {
namespace {

// Rows of an expert that pass through a chunk of its weights at a time.
constexpr std::size_t kTileRows = 24;
constexpr std::size_t kTileFloats = kTileRows * kChunkOutputs;

// Rough time of one weight: as it comes from memory, and with each row of x.
constexpr double kReadNs = 0.05, kMultiplyNs = 0.006;
// Of a router's logit, and of an element of a sum of outputs.
constexpr double kRouteNs = 10, kAddNs = 0.2;

std::size_t ChunksOf(std::size_t outputs) { return (outputs + kChunkOutputs - 1) / kChunkOutputs; }

std::size_t RoundUp64(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

// Deals out pieces of memory, or only counts them when there is none yet.
class Pieces {
 public:
  explicit Pieces(std::byte* memory) : memory_(memory) {}

  template <typename T>
  std::span<T> Take(std::size_t n) {
    T* at = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + used_bytes_);
    used_bytes_ += RoundUp64(n * sizeof(T));
    return {at, n};
  }
  std::size_t used_bytes() const { return used_bytes_; }

 private:
  std::byte* memory_;
  std::size_t used_bytes_ = 0;
};

}  // namespace

// Memory of one call. A slot is one token's visit to one expert.
struct ExpertScratch {
  struct Sizes {
    std::size_t n_tokens, n_used, n_experts, inputs, hidden;
    std::size_t outer_bytes, inner_bytes, worker_bytes, n_threads;
  };

  ExpertScratch(const Sizes& s, Pieces& pieces) : sizes(s) {
    const std::size_t n_slots = s.n_tokens * s.n_used;
    chosen = pieces.Take<std::uint32_t>(n_slots);
    weights = pieces.Take<float>(n_slots);
    probabilities = pieces.Take<float>(s.n_tokens * s.n_experts);
    groups.slot_of = pieces.Take<std::uint32_t>(n_slots);
    groups.token_of = pieces.Take<std::uint32_t>(n_slots);
    groups.first = pieces.Take<std::uint32_t>(s.n_experts + 1);
    active = pieces.Take<std::uint32_t>(std::min(s.n_experts, n_slots));
    hidden = pieces.Take<float>(n_slots * s.hidden);
    outputs = pieces.Take<float>(n_slots * s.inputs);
    outer = pieces.Take<std::byte>(s.outer_bytes);
    inner = pieces.Take<std::byte>(s.inner_bytes);
    workers = pieces.Take<std::byte>(s.worker_bytes * s.n_threads);
  }

  std::byte* worker(std::size_t i) const { return workers.data() + i * sizes.worker_bytes; }

  Sizes sizes;
  std::span<std::uint32_t> chosen;  // [n_tokens, n_used], in ranking order
  std::span<float> weights;         // of `chosen`
  std::span<float> probabilities;   // [n_tokens, n_experts]
  ExpertGroups groups;
  std::span<std::uint32_t> active;  // experts with tokens, set by Run
  std::span<float> hidden;          // [slots, hidden]
  std::span<float> outputs;         // [slots, inputs]
  std::span<std::byte> outer, inner, workers;
};

CpuExperts::CpuExperts(std::vector<Expert> experts, const StoredKernels& kernels)
    : experts_(std::move(experts)),
      inputs_(experts_[0].gate.cols()),
      hidden_(experts_[0].gate.rows()),
      kernels_(kernels),
      outer_(inputs_),
      inner_(hidden_) {
  for (const Expert& expert : experts_) {
    outer_.Need(expert.gate.form());
    outer_.Need(expert.up.form());
    inner_.Need(expert.down.form());
    weight_bytes_ = std::max({weight_bytes_, expert.gate.ScratchBytes() + expert.up.ScratchBytes(),
                              expert.down.ScratchBytes()});
  }
}

void CpuExperts::Route(ThreadPool& pool, const CpuBuffer& router, const ExpertChoice& choice,
                       const ExpertScratch& scratch) const {
  const std::size_t n = experts_.size(), n_used = choice.n_used;
  const float* scale =
      choice.expert_scale == nullptr ? nullptr : AsCpu(*choice.expert_scale).data();
  ForRows(pool, router.rows(), kRouteNs * static_cast<double>(n),
          [&](std::size_t begin, std::size_t end) {
            for (std::size_t r = begin; r < end; ++r) {
              RouteToken({router.row(r), n}, choice.renormalise, scale,
                         scratch.probabilities.subspan(r * n, n),
                         scratch.chosen.subspan(r * n_used, n_used),
                         scratch.weights.subspan(r * n_used, n_used));
            }
          });
}

void CpuExperts::GateAndUp(ThreadPool& pool, const InputRows& rows, GateFn gate,
                           const ExpertScratch& scratch) const {
  const std::size_t n_chunks = ChunksOf(hidden_);
  const auto& first = scratch.groups.first;
  const auto run = [&](std::size_t item, std::size_t worker) {
    const std::uint32_t e = scratch.active[item / n_chunks];
    const std::size_t begin = item % n_chunks * kChunkOutputs;
    const std::size_t n = std::min(kChunkOutputs, hidden_ - begin);
    const Expert& expert = experts_[e];
    auto* gates = reinterpret_cast<float*>(scratch.worker(worker));
    float* ups = gates + kTileFloats;
    auto* weights = reinterpret_cast<std::byte*>(ups + kTileFloats);
    const std::size_t n_rows = first[e + 1] - first[e];
    const ChunkWeights gate_weights = expert.gate.Load(kernels_, rows, begin, n, n_rows, weights);
    weights += expert.gate.ScratchBytes();
    const ChunkWeights up_weights = expert.up.Load(kernels_, rows, begin, n, n_rows, weights);
    for (std::size_t row = first[e]; row < first[e + 1]; row += kTileRows) {
      const std::size_t count = std::min<std::size_t>(kTileRows, first[e + 1] - row);
      expert.gate.Multiply(kernels_, gate_weights, rows, row, count, gates, kChunkOutputs);
      expert.up.Multiply(kernels_, up_weights, rows, row, count, ups, kChunkOutputs);
      for (std::size_t i = 0; i < count; ++i) {
        gate(gates + i * kChunkOutputs, ups + i * kChunkOutputs, n,
             scratch.hidden.data() + (row + i) * hidden_ + begin);
      }
    }
  };
  const double rows_each =
      static_cast<double>(scratch.chosen.size()) / static_cast<double>(scratch.active.size());
  const double item_ns =
      2 * static_cast<double>(inputs_ * kChunkOutputs) * (kReadNs + kMultiplyNs * rows_each);
  ForItems(pool, scratch.active.size() * n_chunks, item_ns, run);
}

void CpuExperts::Down(ThreadPool& pool, const InputRows& rows, const ExpertScratch& scratch) const {
  const std::size_t n_chunks = ChunksOf(inputs_);
  const auto& first = scratch.groups.first;
  const auto run = [&](std::size_t item, std::size_t worker) {
    const std::uint32_t e = scratch.active[item / n_chunks];
    const std::size_t begin = item % n_chunks * kChunkOutputs;
    const std::size_t n = std::min(kChunkOutputs, inputs_ - begin);
    const StoredProduct& down = experts_[e].down;
    const std::size_t n_rows = first[e + 1] - first[e];
    const ChunkWeights weights =
        down.Load(kernels_, rows, begin, n, n_rows, scratch.worker(worker));
    down.Multiply(kernels_, weights, rows, first[e], n_rows,
                  scratch.outputs.data() + first[e] * inputs_ + begin, inputs_);
  };
  const double rows_each =
      static_cast<double>(scratch.chosen.size()) / static_cast<double>(scratch.active.size());
  const double item_ns =
      static_cast<double>(hidden_ * kChunkOutputs) * (kReadNs + kMultiplyNs * rows_each);
  ForItems(pool, scratch.active.size() * n_chunks, item_ns, run);
}

void CpuExperts::Run(ThreadPool& pool, const CpuBuffer& x, const CpuBuffer& router,
                     const ExpertChoice& choice, CpuBuffer& out) const {
  const std::size_t m = x.rows(), n_used = choice.n_used;
  LATTICE_CHECK(x.cols() == inputs_ && &x != &out && &router != &out);
  LATTICE_CHECK(router.rows() == m && router.cols() == experts_.size());
  LATTICE_CHECK(n_used >= 1 && n_used <= experts_.size());
  LATTICE_CHECK(choice.expert_scale == nullptr || choice.expert_scale->size() == experts_.size());
  out.Reshape(m, inputs_);
  if (m == 0) return;
  const ExpertScratch::Sizes sizes = {
      .n_tokens = m,
      .n_used = n_used,
      .n_experts = experts_.size(),
      .inputs = inputs_,
      .hidden = hidden_,
      .outer_bytes = outer_.SizeBytes(m * n_used),
      .inner_bytes = inner_.SizeBytes(m * n_used),
      .worker_bytes = RoundUp64(2 * kTileFloats * sizeof(float)) + weight_bytes_,
      .n_threads = pool.n_threads()};
  Pieces count(nullptr);
  ExpertScratch{sizes, count};
  Pieces pieces(out.Scratch(count.used_bytes()));
  ExpertScratch scratch(sizes, pieces);

  Route(pool, router, choice, scratch);
  GroupByExpert(scratch.chosen, n_used, scratch.groups);
  std::size_t n_active = 0;
  for (std::size_t e = 0; e < experts_.size(); ++e) {
    if (scratch.groups.first[e + 1] == scratch.groups.first[e]) continue;
    scratch.active[n_active++] = static_cast<std::uint32_t>(e);
  }
  scratch.active = scratch.active.first(n_active);

  const InputRows outer = outer_.Make(pool, kernels_, {x.data(), scratch.groups.token_of.data()},
                                      m * n_used, scratch.outer.data());
  GateAndUp(pool, outer, GateOf(kernels_.activations, choice.activation), scratch);
  const InputRows inner = inner_.Make(pool, kernels_, {scratch.hidden.data(), nullptr}, m * n_used,
                                      scratch.inner.data());
  Down(pool, inner, scratch);
  ForRows(pool, m, kAddNs * static_cast<double>(n_used * inputs_),
          [&](std::size_t begin, std::size_t end) {
            for (std::size_t r = begin; r < end; ++r) {
              float* sum = out.row(r);
              std::fill_n(sum, inputs_, 0.0f);
              for (std::size_t i = r * n_used; i < (r + 1) * n_used; ++i) {
                const float* y = scratch.outputs.data() + scratch.groups.slot_of[i] * inputs_;
                const float weight = scratch.weights[i];
                for (std::size_t c = 0; c < inputs_; ++c) sum[c] += weight * y[c];
              }
            }
          });
}

Result<std::unique_ptr<ExpertWeights>> MakeCpuExperts(ThreadPool& pool, WeightMemory& memory,
                                                      std::span<const ExpertTensors> experts,
                                                      Precision precision, CpuFeatures features) {
  if (experts.empty() || experts[0].gate.rows == 0 || experts[0].gate.cols == 0) {
    return Error{ErrorCode::kInvalidArgument, "a mixture without experts, inputs or outputs"};
  }
  const std::size_t hidden = experts[0].gate.rows, inputs = experts[0].gate.cols;
  const StoredKernels kernels(features);
  const auto product = [&](const HostTensor& tensor) {
    return StoredProduct::Make(pool, memory, tensor, precision, kernels);
  };
  std::vector<CpuExperts::Expert> all;
  all.reserve(experts.size());
  for (std::size_t e = 0; e < experts.size(); ++e) {
    const std::string what = "weight of expert " + std::to_string(e);
    LATTICE_TRY_VOID(CheckTensor(experts[e].gate, hidden, inputs, what.c_str()));
    LATTICE_TRY_VOID(CheckTensor(experts[e].up, hidden, inputs, what.c_str()));
    LATTICE_TRY_VOID(CheckTensor(experts[e].down, inputs, hidden, what.c_str()));
    LATTICE_TRY(StoredProduct gate, product(experts[e].gate));
    LATTICE_TRY(StoredProduct up, product(experts[e].up));
    LATTICE_TRY(StoredProduct down, product(experts[e].down));
    all.push_back({std::move(gate), std::move(up), std::move(down)});
  }
  return std::unique_ptr<ExpertWeights>(std::make_unique<CpuExperts>(std::move(all), kernels));
}

}  // namespace lattice::kernels
