#include "kernels/cpu/stored/stored_linear.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "kernels/cpu/linear/stacked_rows.h"
#include "kernels/cpu/stored/items.h"
#include "kernels/cpu/stored/packed_table.h"
#include "kernels/cpu/stored/stored_product.h"
#include "lattice/check.h"

namespace lattice::kernels {
namespace {

// Rows of x that pass through a chunk of weights before their outputs are finished.
constexpr std::size_t kTileRows = 48;
constexpr std::size_t kTileBytes = kTileRows * kChunkOutputs * sizeof(float);

// Many rows of x are read from far caches once for a few chunks of weights, which lie in a near
// one.
constexpr std::size_t kMaxRunChunks = 4;
constexpr std::size_t kRunWeightBytes = std::size_t{512} << 10;

// Rough time of one weight: as it comes from memory, and with each row of x.
constexpr double kReadNs = 0.05, kMultiplyNs = 0.006;

// What comes after the products of a tile and their bias.
struct Finish {
  MapFn activate;  // may be null
  const CpuBuffer* residual;
  CpuBuffer& y;

  // tile [n_rows, kChunkOutputs] holds n outputs from `col` of the rows from `row`.
  void Run(float* tile, std::size_t row, std::size_t n_rows, std::size_t col, std::size_t n) const {
    for (std::size_t i = 0; i < n_rows; ++i) {
      float* sum = tile + i * kChunkOutputs;
      if (activate != nullptr) activate(sum, n);
      float* out = y.row(row + i) + col;
      if (residual == nullptr) {
        std::copy_n(sum, n, out);
        continue;
      }
      const float* add = residual->row(row + i) + col;
      for (std::size_t j = 0; j < n; ++j) out[j] = sum[j] + add[j];
    }
  }
};

class StoredLinear : public CpuLinear {
 public:
  StoredLinear(const StackedRows& weights, std::vector<StoredProduct> products, bool has_bias,
               const StoredKernels& kernels)
      : outputs_(weights.outputs()),
        inputs_(weights.inputs()),
        products_(std::move(products)),
        kernels_(kernels),
        plan_(inputs_) {
    if (has_bias) bias_ = weights.Biases(outputs_);
    std::size_t col = 0;
    for (const StoredProduct& product : products_) {
      plan_.Need(product.form());
      scratch_bytes_ = std::max(scratch_bytes_, product.ScratchBytes());
      const std::size_t rows = product.rows();
      for (std::size_t begin = 0; begin < rows; begin += kChunkOutputs) {
        chunks_.push_back({&product, begin, std::min(kChunkOutputs, rows - begin), col + begin});
      }
      col += rows;
    }
    halves_match_ = HalvesMatch();
  }

  std::size_t outputs() const override { return outputs_; }
  std::size_t inputs() const override { return inputs_; }

  void Run(ThreadPool& pool, const CpuBuffer& x, const Epilogue& epilogue,
           CpuBuffer& y) const override {
    LATTICE_CHECK(x.cols() == inputs_ && &x != &y);
    const std::size_t m = x.rows();
    y.Reshape(m, outputs_);
    const CpuBuffer* residual = epilogue.residual == nullptr ? nullptr : &AsCpu(*epilogue.residual);
    LATTICE_CHECK(residual == nullptr || (residual->rows() == m && residual->cols() == outputs_));
    if (m == 0) return;
    const Finish finish = {MapOf(kernels_.activations, epilogue.activation), residual, y};
    ForRuns(pool, x, y, 1, [&](const ChunkRun& run, const InputRows& rows, std::byte* scratch) {
      RunChunks(run, rows, m, scratch, finish);
    });
  }

  bool RunGated(ThreadPool& pool, const CpuBuffer& x, Activation activation,
                CpuBuffer& y) const override {
    LATTICE_CHECK(x.cols() == inputs_ && &x != &y);
    if (!halves_match_) return false;
    const std::size_t m = x.rows();
    y.Reshape(m, outputs_ / 2);
    if (m == 0) return true;
    const GateFn gate = GateOf(kernels_.activations, activation);
    ForRuns(pool, x, y, 2, [&](const ChunkRun& run, const InputRows& rows, std::byte* scratch) {
      RunGatedChunks(run, rows, gate, scratch, y);
    });
    return true;
  }

  std::unique_ptr<CpuTable> MakeTable(std::shared_ptr<const CpuLinear> self) const override {
    const PackedMatrix* matrix = products_.size() == 1 ? products_[0].packed() : nullptr;
    if (matrix == nullptr || !bias_.empty()) return nullptr;
    return std::make_unique<PackedTable>(std::move(self), *matrix, outputs_, inputs_,
                                         *kernels_.packed);
  }

 private:
  struct Chunk {
    const StoredProduct* product;
    std::size_t begin, n;  // rows of its matrix
    std::size_t col;       // of the layer's outputs
  };
  struct ChunkRun {
    std::size_t first, n;  // of chunks_
  };

  // Whether the chunks of the first half of the outputs have counterparts in the second half.
  bool HalvesMatch() const {
    const std::size_t half = chunks_.size() / 2;
    if (chunks_.size() % 2 != 0 || outputs_ % 2 != 0) return false;
    for (std::size_t c = 0; c < half; ++c) {
      const Chunk &first = chunks_[c], &second = chunks_[half + c];
      if (first.n != second.n || first.col + outputs_ / 2 != second.col) return false;
    }
    return true;
  }

  // Chunks through which each few rows of x pass together.
  std::size_t RunLength(std::size_t m) const {
    if (m <= kTileRows) return 1;
    const std::size_t chunk_bytes = std::max(scratch_bytes_, kChunkOutputs * inputs_);
    return std::clamp<std::size_t>(kRunWeightBytes / chunk_bytes, 1, kMaxRunChunks);
  }

  // Calls body(run, rows of x, a worker's memory) for all chunks, or for the first of n_each equal
  // parts of them. The memory is a tile of outputs and a chunk's weights, n_each times for each
  // chunk of a run.
  template <typename Body>
  void ForRuns(ThreadPool& pool, const CpuBuffer& x, CpuBuffer& y, std::size_t n_each,
               Body body) const {
    const std::size_t m = x.rows(), length = RunLength(m), n = chunks_.size() / n_each;
    const std::size_t input_bytes = plan_.SizeBytes(m);
    const std::size_t worker_bytes = n_each * (kTileBytes + length * scratch_bytes_);
    std::byte* scratch = y.Scratch(input_bytes + worker_bytes * pool.n_threads());
    const InputRows rows = plan_.Make(pool, kernels_, {x.data(), nullptr}, m, scratch);
    const double item_ns = static_cast<double>(n_each * length * inputs_ * kChunkOutputs) *
                           (kReadNs + kMultiplyNs * static_cast<double>(m));
    ForItems(pool, (n + length - 1) / length, item_ns, [&](std::size_t i, std::size_t worker) {
      const ChunkRun run = {i * length, std::min(length, n - i * length)};
      body(run, rows, scratch + input_bytes + worker * worker_bytes);
    });
  }

  ChunkWeights Load(const Chunk& chunk, const InputRows& rows, std::size_t m,
                    std::byte* scratch) const {
    return chunk.product->Load(kernels_, rows, chunk.begin, chunk.n, m, scratch);
  }

  // The outputs of a chunk for a few rows, into a tile.
  void Multiply(const Chunk& chunk, const ChunkWeights& weights, const InputRows& rows,
                std::size_t row, std::size_t n_rows, float* tile) const {
    chunk.product->Multiply(kernels_, weights, rows, row, n_rows, tile, kChunkOutputs);
    if (bias_.empty()) return;
    for (std::size_t r = 0; r < n_rows; ++r) {
      for (std::size_t j = 0; j < chunk.n; ++j) tile[r * kChunkOutputs + j] += bias_[chunk.col + j];
    }
  }

  void RunChunks(const ChunkRun& run, const InputRows& rows, std::size_t m, std::byte* scratch,
                 const Finish& finish) const {
    auto* tile = reinterpret_cast<float*>(scratch);
    scratch += kTileBytes;
    std::array<ChunkWeights, kMaxRunChunks> weights;
    for (std::size_t c = 0; c < run.n; ++c, scratch += scratch_bytes_) {
      weights[c] = Load(chunks_[run.first + c], rows, m, scratch);
    }
    for (std::size_t row = 0; row < m; row += kTileRows) {
      const std::size_t n_rows = std::min(kTileRows, m - row);
      for (std::size_t c = 0; c < run.n; ++c) {
        const Chunk& chunk = chunks_[run.first + c];
        Multiply(chunk, weights[c], rows, row, n_rows, tile);
        finish.Run(tile, row, n_rows, chunk.col, chunk.n);
      }
    }
  }

  // A run of gates and that of what they multiply, finished together.
  void RunGatedChunks(const ChunkRun& run, const InputRows& rows, GateFn gate, std::byte* scratch,
                      CpuBuffer& y) const {
    const Chunk* const chunks[2] = {chunks_.data() + run.first,
                                    chunks_.data() + chunks_.size() / 2 + run.first};
    float* const tiles[2] = {reinterpret_cast<float*>(scratch),
                             reinterpret_cast<float*>(scratch + kTileBytes)};
    scratch += 2 * kTileBytes;
    std::array<std::array<ChunkWeights, 2>, kMaxRunChunks> weights;
    for (std::size_t c = 0; c < run.n; ++c) {
      for (std::size_t i = 0; i < 2; ++i, scratch += scratch_bytes_) {
        weights[c][i] = Load(chunks[i][c], rows, y.rows(), scratch);
      }
    }
    for (std::size_t row = 0; row < y.rows(); row += kTileRows) {
      const std::size_t n_rows = std::min(kTileRows, y.rows() - row);
      for (std::size_t c = 0; c < run.n; ++c) {
        for (std::size_t i = 0; i < 2; ++i) {
          Multiply(chunks[i][c], weights[c][i], rows, row, n_rows, tiles[i]);
        }
        for (std::size_t r = 0; r < n_rows; ++r) {
          gate(tiles[0] + r * kChunkOutputs, tiles[1] + r * kChunkOutputs, chunks[0][c].n,
               y.row(row + r) + chunks[0][c].col);
        }
      }
    }
  }

  std::size_t outputs_, inputs_;
  std::size_t scratch_bytes_ = 0;  // of a chunk's weights
  std::vector<StoredProduct> products_;
  std::vector<Chunk> chunks_;
  bool halves_match_ = false;
  std::vector<float> bias_;  // empty: none
  StoredKernels kernels_;
  InputPlan plan_;
};

}  // namespace

bool PacksStored(Dtype dtype, Precision precision, CpuFeatures features) {
  return StoredProduct::Packs(dtype, precision, StoredKernels(features));
}

Result<std::unique_ptr<LinearWeights>> MakeCpuStoredLinear(ThreadPool& pool, WeightMemory& memory,
                                                           std::span<const HostTensor> matrices,
                                                           std::span<const HostTensor> biases,
                                                           Precision precision,
                                                           CpuFeatures features) {
  LATTICE_TRY(const StackedRows weights, StackedRows::Make(matrices, biases));
  const StoredKernels kernels(features);
  std::vector<StoredProduct> products;
  products.reserve(matrices.size());
  for (const HostTensor& tensor : matrices) {
    LATTICE_TRY(StoredProduct product,
                StoredProduct::Make(pool, memory, tensor, precision, kernels));
    products.push_back(std::move(product));
  }
  const bool has_bias =
      std::ranges::any_of(biases, [](const HostTensor& bias) { return bias.cols != 0; });
  return std::unique_ptr<LinearWeights>(
      std::make_unique<StoredLinear>(weights, std::move(products), has_bias, kernels));
}

}  // namespace lattice::kernels
