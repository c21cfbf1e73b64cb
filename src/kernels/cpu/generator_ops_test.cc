// The small operations of generators against their definitions, and what a decode step allocates.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "kernels/cpu/cpu_backend.h"

#if defined(__SANITIZE_ADDRESS__)
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*,
                                                                  std::size_t),
                                                         void (*)(const volatile void*));
#endif

namespace lattice::kernels {
namespace {

constexpr std::size_t kRows = 37, kCols = 60;

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

class GeneratorOpsTest : public testing::Test {
 protected:
  std::unique_ptr<Buffer> Random(std::size_t rows, std::size_t cols) {
    std::normal_distribution<float> normal;
    std::vector<float> values(rows * cols);
    for (float& v : values) v = normal(rng_);
    std::unique_ptr<Buffer> buffer = backend_->MakeBuffer();
    backend_->Write(values, rows, cols, *buffer);
    return buffer;
  }
  std::vector<float> Read(const Buffer& buffer) {
    std::vector<float> values(buffer.rows() * buffer.cols());
    backend_->Read(buffer, values);
    return values;
  }
  // want(row, col) for every element of x.
  template <typename Want>
  void Expect(const Buffer& x, Want want) {
    const std::vector<float> got = Read(x);
    for (std::size_t r = 0; r < x.rows(); ++r) {
      for (std::size_t c = 0; c < x.cols(); ++c) {
        ASSERT_NEAR(got[r * x.cols() + c], want(r, c), 2e-6) << "row " << r << " col " << c;
      }
    }
  }

  std::mt19937 rng_{11};
  ThreadPool pool_{2};
  std::unique_ptr<Backend> backend_ = MakeCpuBackend(pool_, CpuFeatures::Detect());
};

TEST_F(GeneratorOpsTest, GatedLinearIsTheProductAndItsGate) {
  constexpr std::size_t kInputs = 64;
  for (const std::size_t n : {5u, 32u, 100u}) {
    const std::vector<float> weights = Read(*Random(2 * n, kInputs));
    const std::vector<float> bias = Read(*Random(1, 2 * n));
    const auto tensor = [&](std::span<const float> values, std::size_t rows) {
      return HostTensor{Dtype::kF32, rows, values.size() / rows, std::as_bytes(values), {}};
    };
    const std::span<const float> all(weights);
    // As one matrix, whose halves need not begin where the kernel's pieces do, and as two.
    const HostTensor whole[] = {tensor(all, 2 * n)};
    const HostTensor halves[] = {tensor(all.first(n * kInputs), n),
                                 tensor(all.last(n * kInputs), n)};
    const HostTensor whole_bias[] = {tensor(bias, 1)};
    ProcessWeightMemory memory;
    const auto linear = backend_->MakeStoredLinear(whole, whole_bias, Precision::kF32, memory);
    const auto split = backend_->MakeStoredLinear(halves, {}, Precision::kF32, memory);
    const auto packed = backend_->MakeLinear(whole, {}, Precision::kF32);
    for (const std::size_t rows : {1u, 3u, 50u}) {
      const auto x = Random(rows, kInputs);
      const auto product = backend_->MakeBuffer(), want = backend_->MakeBuffer();
      const auto got = backend_->MakeBuffer();
      for (const LinearWeights* w : {linear->get(), split->get(), packed->get()}) {
        backend_->Linear(*x, *w, {}, *product);
        backend_->Gate(*product, Activation::kSilu, GateHalf::kFirst, *want);
        backend_->GatedLinear(*x, *w, Activation::kSilu, *product, *got);
        EXPECT_EQ(Read(*got), Read(*want)) << n << " outputs, " << rows << " rows";
      }
    }
  }
}

TEST_F(GeneratorOpsTest, SigmoidGates) {
  const auto x = Random(kRows, kCols), gate = Random(kRows, kCols + 3), sum = Random(kRows, kCols);
  const std::vector<float> v = Read(*x), g = Read(*gate), s = Read(*sum);
  backend_->AddSigmoidGated(*x, *gate, 2, *sum);
  Expect(*sum, [&](std::size_t r, std::size_t c) {
    return s[r * kCols + c] + Logistic(g[r * (kCols + 3) + 2]) * v[r * kCols + c];
  });
  backend_->SigmoidGate(*x, *gate, 3);
  Expect(*x, [&](std::size_t r, std::size_t c) {
    return v[r * kCols + c] * Logistic(g[r * (kCols + 3) + 3 + c]);
  });
}

TEST_F(GeneratorOpsTest, ActivateMultiply) {
  const auto x = Random(kRows, kCols), y = Random(kRows, kCols + 1);
  const std::vector<float> v = Read(*x), f = Read(*y);
  backend_->ActivateMultiply(Activation::kSilu, *x, *y, 1);
  Expect(*x, [&](std::size_t r, std::size_t c) {
    return v[r * kCols + c] * Logistic(v[r * kCols + c]) * f[r * (kCols + 1) + 1 + c];
  });
}

TEST_F(GeneratorOpsTest, SoftCapAndAddScaled) {
  const auto x = Random(kRows, kCols), y = Random(kRows, kCols);
  std::vector<float> v = Read(*x);
  const std::vector<float> other = Read(*y);
  backend_->AddScaled(*x, y.get(), 3.0f);
  Expect(*x, [&](std::size_t r, std::size_t c) {
    return 3.0f * (v[r * kCols + c] + other[r * kCols + c]);
  });
  backend_->AddScaled(*x, nullptr, 0.5f);
  v = Read(*x);
  backend_->SoftCap(2.0f, *x);
  Expect(*x, [&](std::size_t r, std::size_t c) { return 2 * std::tanh(v[r * kCols + c] / 2.0); });
}

#if defined(__SANITIZE_ADDRESS__)
std::atomic<std::size_t> allocations{0};
#endif

TEST_F(GeneratorOpsTest, ADecodeStepAllocatesNothing) {
#if defined(__SANITIZE_ADDRESS__)
  static const int installed = __sanitizer_install_malloc_and_free_hooks(
      [](const volatile void*, std::size_t) { ++allocations; }, [](const volatile void*) {});
  ASSERT_NE(installed, 0);
  constexpr std::size_t kHeads = 4, kDim = 64;
  constexpr std::uint32_t kDepth = 1000;
  const auto kv = backend_->MakeKvPages({kHeads, kDim, KvType::kF16}, 20).value();
  std::vector<std::uint32_t> pages(20), slots(kDepth);
  for (std::uint32_t i = 0; i < 20; ++i) pages[i] = 19 - i;
  for (std::uint32_t i = 0; i < kDepth; ++i) slots[i] = pages[i / 64] * 64 + i % 64;
  const auto prompt = Random(kDepth, 3 * kHeads * kDim), row = Random(1, 3 * kHeads * kDim);
  const auto out = backend_->MakeBuffer();
  const auto attend = [&](const Buffer& qkv, std::span<const std::uint32_t> to, std::uint32_t at) {
    backend_->StoreKv(qkv, kHeads * kDim, 2 * kHeads * kDim, to, *kv);
    PagedAttentionArgs args;
    args.q = &qkv;
    args.n_heads = kHeads;
    args.kv = kv.get();
    const PagedSpan span = {0, static_cast<std::uint32_t>(to.size()), at, pages};
    args.spans = {&span, 1};
    backend_->PagedAttention(args, *out);
  };
  const DeltaNetShape shape = {4, 8, 64, 64, 4, KeyHeadOrder::kBlocked};
  const auto state = backend_->MakeDeltaNetState(shape);
  const auto x = Random(1, shape.conv_width() + 16), y = backend_->MakeBuffer();
  const auto conv = backend_->MakeVector(std::vector<float>(shape.conv_width() * 4, 0.5f));
  const auto decay = backend_->MakeVector(std::vector<float>(8, -1.0f));
  DeltaNetArgs args;
  args.shape = shape;
  args.weights = {conv.get(), decay.get(), decay.get()};
  args.x = x.get();
  args.beta_col = shape.conv_width();
  args.decay_col = args.beta_col + 8;
  const DeltaNetSpan span = {0, 1, state.get()};
  args.spans = {&span, 1};
  attend(*prompt, slots, 0);
  const auto step = [&](std::uint32_t i) {
    const std::uint32_t slot[] = {pages[(kDepth + i) / 64] * 64 + (kDepth + i) % 64};
    attend(*row, slot, kDepth + i);
    backend_->DeltaNet(args, *y);
  };
  step(0);
  const std::size_t before = allocations;
  EXPECT_GT(before, 0u);
  for (std::uint32_t i = 1; i < 70; ++i) step(i);  // Over borders of pages, segments and chunks.
  EXPECT_EQ(allocations - before, 0u);
#else
  GTEST_SKIP() << "allocations are counted by AddressSanitizer's hooks: build with the dev preset";
#endif
}

}  // namespace
}  // namespace lattice::kernels
