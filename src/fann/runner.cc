#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "base/cpu_cores.h"
#include "base/thread_pool.h"
#include "fann/layer_forward.h"

namespace lattice::fann {
namespace {

// Rows that go through all layers at once: their values stay in the cache.
constexpr std::size_t kTile = 96;

}  // namespace

struct Runner::State {
  const Network* network;
  Kernels kernels;
  std::optional<ThreadPool> pool;  // Absent: one thread.
  std::size_t stride = 0;          // Of the rows between layers.
  AlignedBuffer rows;              // [workers, 2, kTile, stride]

  void RunTile(std::size_t worker, const float* inputs, std::size_t n, float* outputs);
};

Runner::Runner(std::unique_ptr<State> state) : state_(std::move(state)) {}
Runner::Runner(Runner&&) noexcept = default;
Runner& Runner::operator=(Runner&&) noexcept = default;
Runner::~Runner() = default;

Result<Runner> Runner::Create(const Network& network, const RunOptions& options) {
  auto state = std::make_unique<State>();
  state->network = &network;
  LATTICE_TRY(state->kernels, FindKernels(options.instruction_set));
  const std::size_t n_threads = options.n_threads == 0 ? UsableCores() : options.n_threads;
  if (n_threads > 1) state->pool.emplace(n_threads);
  state->stride = RowStride(network.data().widest);
  const std::size_t n_workers = state->pool ? state->pool->n_threads() : 1;
  state->rows = AlignedBuffer(n_workers * 2 * kTile * state->stride * sizeof(float));
  return Runner(std::move(state));
}

void Runner::State::RunTile(std::size_t worker, const float* inputs, std::size_t n,
                            float* outputs) {
  const NetworkData& data = network->data();
  float* const own = rows.As<float>().data() + worker * 2 * kTile * stride;
  const float* x = inputs;
  std::size_t x_stride = data.layers.front().n_inputs;
  for (std::size_t l = 0; l < data.layers.size(); ++l) {
    const LayerInfo& layer = data.layers[l];
    const LayerPlace& place = data.places[l];
    const bool is_last = l + 1 == data.layers.size();
    float* const y = is_last ? outputs : own + (l % 2) * kTile * stride;
    const std::size_t y_stride = is_last ? layer.n_outputs : stride;
    LayerSums(data, l, kernels, x, x_stride, n, 0, layer.n_outputs, y, y_stride);
    for (std::size_t r = 0; r < n; ++r) {
      float* const row = y + r * y_stride;
      if (layer.layer_norm) {
        const float* const parameters = data.values().data();
        kernels.units->normalise(row, layer.n_outputs, kNormEpsilon, row);
        kernels.units->affine(row, parameters + place.gains, parameters + place.shifts,
                              layer.n_outputs, row);
      }
      if (layer.activation == Activation::kSoftmax) {
        float max_and_sum[2];
        kernels.units->softmax(row, layer.n_outputs, row, max_and_sum);
      } else if (layer.activation != Activation::kLinear) {
        kernels.units->activate(KindOf(layer), layer.slope, row, layer.n_outputs, row);
      }
    }
    x = y;
    x_stride = y_stride;
  }
}

Status Runner::Run(std::span<const float> inputs, std::span<float> outputs) {
  const NetworkData& data = state_->network->data();
  const std::size_t n_inputs = data.layers.front().n_inputs;
  const std::size_t n_outputs = data.layers.back().n_outputs;
  const std::size_t n = inputs.size() / n_inputs;
  if (inputs.size() != n * n_inputs || outputs.size() != n * n_outputs) {
    return Error{ErrorCode::kInvalidArgument,
                 std::to_string(inputs.size()) + " inputs and " + std::to_string(outputs.size()) +
                     " outputs for rows of " + std::to_string(n_inputs) + " and " +
                     std::to_string(n_outputs)};
  }
  const auto poison = state_->kernels.units->poison;
  if (std::isnan(poison(inputs.data(), inputs.size()))) {
    const auto at = std::ranges::find_if(inputs, [](float x) { return !std::isfinite(x); });
    const auto i = static_cast<std::size_t>(at - inputs.begin());
    return Error{ErrorCode::kInvalidArgument, "input " + std::to_string(i % n_inputs) + " of row " +
                                                  std::to_string(i / n_inputs) + " is not finite"};
  }
  const std::size_t n_tiles = (n + kTile - 1) / kTile;
  const auto run = [&](std::size_t worker, std::size_t tile) {
    const std::size_t begin = tile * kTile, rows = std::min(kTile, n - begin);
    state_->RunTile(worker, inputs.data() + begin * n_inputs, rows,
                    outputs.data() + begin * n_outputs);
  };
  if (state_->pool && n_tiles > 1) {
    const std::size_t n_workers = state_->pool->n_threads();
    state_->pool->Run([&](std::size_t worker) {
      for (std::size_t tile = worker; tile < n_tiles; tile += n_workers) run(worker, tile);
    });
  } else {
    for (std::size_t tile = 0; tile < n_tiles; ++tile) run(0, tile);
  }
  if (std::isnan(poison(outputs.data(), outputs.size()))) {
    return Error{ErrorCode::kInvalidArgument, "a result is not finite: sums exceed f32"};
  }
  return Ok();
}

}  // namespace lattice::fann
