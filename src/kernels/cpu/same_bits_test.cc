// Runs a layer that uses every operation, and compares each step bit by bit: texts together and
// alone, on one, two and three threads.

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/cpu_backend.h"

#if defined(__SANITIZE_ADDRESS__)
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*,
                                                                  std::size_t),
                                                         void (*)(const volatile void*));
#endif

namespace lattice::kernels {
namespace {

constexpr std::size_t kVocab = 50, kHidden = 96, kHeads = 4, kKvHeads = 2, kDim = 24;
constexpr std::size_t kQkv = (kHeads + 2 * kKvHeads) * kDim;

std::vector<float> Random(std::size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0.0f, 0.3f);
  std::vector<float> values(n);
  for (float& v : values) v = normal(rng);
  return values;
}

struct Batch {
  std::vector<std::int32_t> ids, positions;
  std::vector<std::uint32_t> index;
  std::vector<AttentionSpan> spans;

  void Add(std::size_t n_tokens, unsigned seed) {
    std::mt19937 rng(seed);
    const auto begin = static_cast<std::uint32_t>(ids.size());
    for (std::size_t i = 0; i < n_tokens; ++i) {
      ids.push_back(static_cast<std::int32_t>(rng() % kVocab));
      positions.push_back(static_cast<std::int32_t>(i));
      index.push_back(static_cast<std::uint32_t>(i));
    }
    const auto end = static_cast<std::uint32_t>(ids.size());
    spans.push_back({begin, end, begin, end});
  }
};

class Layer {
 public:
  explicit Layer(std::size_t n_threads)
      : pool_(n_threads), backend_(MakeCpuBackend(pool_, CpuFeatures::Detect())) {
    table_ = backend_->MakeTable(Tensor(values_, kVocab, kHidden)).value();
    qkv_ = Linear(kQkv, kHidden, 2);
    output_ = Linear(kHidden, kHeads * kDim, 3);
    up_ = Linear(4 * kHidden, kHidden, 4);
    down_ = Linear(kHidden, 2 * kHidden, 5);
    gain_ = backend_->MakeVector(Random(kHidden, 6));
    head_gain_ = backend_->MakeVector(Random(kDim, 7));
    for (auto& buffer : buffers_) buffer = backend_->MakeBuffer();
    for (std::size_t i = 0; i < kDim / 2; ++i) {
      inv_freq_.push_back(std::pow(1000.0f, -static_cast<float>(i) * 2 / kDim));
    }
  }

  // Calls seen(step, buffer) after each step.
  template <typename Seen>
  void Run(const Batch& batch, Seen seen) {
    auto& [x, qkv, context, wide, y, picked] = buffers_;
    const Lookup terms[] = {{table_.get(), batch.ids}};
    backend_->Embed(terms, 1.5f, *x);
    seen("embed", *x);
    backend_->LayerNorm(*x, nullptr, *gain_, gain_.get(), 1e-5f, *x);
    seen("layer norm", *x);
    backend_->Linear(*x, *qkv_, {}, *qkv);
    seen("linear", *qkv);
    backend_->HeadRmsNorm(*qkv, {0, kHeads + kKvHeads, kDim}, *head_gain_, 1e-6f);
    seen("head norm", *qkv);
    backend_->ApplyRope(*qkv, {0, kHeads + kKvHeads, kDim}, batch.positions, {inv_freq_, 1.0f});
    seen("rope", *qkv);
    AttentionArgs args;
    args.q = args.kv = qkv.get();
    args.k_col = kHeads * kDim;
    args.v_col = (kHeads + kKvHeads) * kDim;
    args.n_heads = kHeads;
    args.n_kv_heads = kKvHeads;
    args.head_dim = kDim;
    args.spans = batch.spans;
    args.query_index = batch.index;
    for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
      for (const bool causal : {false, true}) {
        for (const std::uint32_t window : {0u, 9u}) {
          args.precision = precision;
          args.causal = causal;
          args.window = window;
          backend_->Attention(args, *context);
          seen("attention", *context);
        }
      }
    }
    backend_->Linear(*context, *output_, {Activation::kNone, x.get()}, *x);
    seen("linear with residual", *x);
    backend_->Linear(*x, *up_, {Activation::kGeluErf, nullptr}, *wide);
    seen("linear with GELU", *wide);
    backend_->Gate(*wide, Activation::kSilu, GateHalf::kSecond, *y);
    seen("gate", *y);
    backend_->Activate(Activation::kGeluTanh, *y);
    seen("activation", *y);
    backend_->Linear(*y, *down_, {}, *wide);
    backend_->RmsNorm(*wide, *gain_, 1e-6f, *wide);
    seen("rms norm", *wide);
    backend_->RmsNormAdd(*x, *wide, *gain_, 1e-6f, *x);
    seen("sandwich norm", *x);
    const std::uint32_t first[] = {0};
    backend_->GatherRows(*x, first, *picked);
  }

  std::vector<float> Read(const Buffer& buffer) {
    std::vector<float> values(buffer.rows() * buffer.cols());
    backend_->Read(buffer, values);
    return values;
  }

 private:
  static HostTensor Tensor(const std::vector<float>& values, std::size_t rows, std::size_t cols) {
    return {Dtype::kF32, rows, cols, std::as_bytes(std::span(values))};
  }
  std::unique_ptr<LinearWeights> Linear(std::size_t outputs, std::size_t inputs, unsigned seed) {
    const std::vector<float> w = Random(outputs * inputs, seed);
    const HostTensor tensors[] = {Tensor(w, outputs, inputs)};
    return backend_->MakeLinear(tensors, {}, Precision::kF32).value();
  }

  ThreadPool pool_;
  std::unique_ptr<Backend> backend_;
  std::vector<float> values_ = Random(kVocab * kHidden, 1);
  std::unique_ptr<Table> table_;
  std::unique_ptr<LinearWeights> qkv_, output_, up_, down_;
  std::unique_ptr<Vector> gain_, head_gain_;
  std::vector<float> inv_freq_;
  std::unique_ptr<Buffer> buffers_[6];
};

constexpr std::size_t kLengths[] = {1, 10, 64, 37, 65, 200, 3, 129};

TEST(SameBitsTest, ATextAloneAndAmongOthersOnAnyNumberOfThreads) {
  Batch together;
  std::vector<Batch> alone(std::size(kLengths));
  for (unsigned t = 0; t < std::size(kLengths); ++t) {
    together.Add(kLengths[t], t);
    alone[t].Add(kLengths[t], t);
  }
  // All steps of each text by itself on one thread.
  std::vector<std::vector<std::vector<float>>> want(alone.size());
  Layer reference(1);
  for (std::size_t t = 0; t < alone.size(); ++t) {
    reference.Run(alone[t], [&](const char*, const Buffer& buffer) {
      want[t].push_back(reference.Read(buffer));
    });
  }
  for (std::size_t n_threads : {1u, 2u, 3u}) {
    Layer layer(n_threads);
    std::size_t step = 0;
    layer.Run(together, [&](const char* name, const Buffer& buffer) {
      const std::vector<float> rows = layer.Read(buffer);
      const std::size_t at = step++;
      for (std::size_t t = 0; t < alone.size(); ++t) {
        ASSERT_EQ(std::memcmp(&rows[together.spans[t].query_begin * buffer.cols()],
                              want[t][at].data(), want[t][at].size() * sizeof(float)),
                  0)
            << "step " << at << ", " << name << ", text " << t << ", " << n_threads << " threads";
      }
    });
    ASSERT_EQ(step, want[0].size());
  }
}

#if defined(__SANITIZE_ADDRESS__)
std::atomic<std::size_t> allocations{0};
#endif

TEST(SameBitsTest, TheSecondPassAllocatesNothing) {
#if defined(__SANITIZE_ADDRESS__)
  static const int installed = __sanitizer_install_malloc_and_free_hooks(
      [](const volatile void*, std::size_t) { ++allocations; }, [](const volatile void*) {});
  ASSERT_NE(installed, 0);
  Batch batch;
  for (unsigned t = 0; t < std::size(kLengths); ++t) batch.Add(kLengths[t], t);
  for (std::size_t n_threads : {1u, 3u}) {
    Layer layer(n_threads);
    const auto nothing = [](const char*, const Buffer&) {};
    layer.Run(batch, nothing);
    const std::size_t before = allocations;
    EXPECT_GT(before, 0u);
    layer.Run(batch, nothing);
    EXPECT_EQ(allocations - before, 0u) << n_threads << " threads";
  }
#else
  GTEST_SKIP() << "allocations are counted by AddressSanitizer's hooks: build with the dev preset";
#endif
}

}  // namespace
}  // namespace lattice::kernels
