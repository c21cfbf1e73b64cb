#include "kernels/cpu/attention/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace lattice::kernels {
namespace {

std::vector<float> Random(std::size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0.0f, 2.0f);
  std::vector<float> values(n);
  for (float& v : values) v = normal(rng);
  return values;
}

struct Mask {
  bool causal;
  std::uint32_t window;
};

// One head, straight through the kernels; every buffer is an exact heap block.
std::vector<float> Attend(const AttentionKernels& kernels, std::size_t dim, Mask mask,
                          const std::vector<float>& q, const std::vector<float>& kv,
                          const std::vector<std::uint32_t>& index) {
  const std::size_t n_keys = kv.size() / (2 * dim), padded = (dim + 15) / 16 * 16;
  AlignedBuffer keys(kernels.key_floats(n_keys, dim) * sizeof(float));
  AlignedBuffer values(kernels.value_floats(n_keys, dim) * sizeof(float));
  AlignedBuffer scratch(kernels.scratch_floats(dim) * sizeof(float));
  kernels.pack_keys(kv.data(), 2 * dim, n_keys, dim, keys.As<float>().data());
  kernels.pack_values(kv.data() + dim, 2 * dim, n_keys, dim, values.As<float>().data());
  std::vector<float> out(index.size() * dim);
  if (kernels.enter != nullptr) kernels.enter();
  kernels.attend(
      {q.data(), dim, index.size(), index.data(), 0.3f, mask.causal, mask.window, out.data(), dim},
      {keys.As<float>().data(), values.As<float>().data(), padded, n_keys, dim},
      scratch.As<float>().data());
  if (kernels.leave != nullptr) kernels.leave();
  return out;
}

TEST(AttentionTest, AllF32VariantsGiveTheSameBits) {
  const CpuFeatures features = CpuFeatures::Detect();
  for (std::size_t dim : {1u, 8u, 24u, 32u, 64u, 80u, 128u, 256u, 300u}) {
    for (std::size_t n_keys : {1u, 16u, 17u, 64u, 65u, 130u}) {
      const std::vector<float> q = Random(n_keys * dim, 1), kv = Random(n_keys * 2 * dim, 2);
      std::vector<std::uint32_t> index(n_keys);
      for (std::size_t i = 0; i < n_keys; ++i) index[i] = static_cast<std::uint32_t>(i);
      for (Mask mask : {Mask{false, 0}, Mask{true, 0}, Mask{true, 20}, Mask{false, 20}}) {
        const auto want = Attend(kAttentionScalar, dim, mask, q, kv, index);
        for (const AttentionVariant& variant : AttentionVariants()) {
          if (!features.Has(variant.needs) || variant.run->per_slot != 1) continue;
          const auto got = Attend(*variant.run, dim, mask, q, kv, index);
          ASSERT_EQ(std::memcmp(want.data(), got.data(), want.size() * sizeof(float)), 0)
              << variant.name << " dim " << dim << " keys " << n_keys << " causal " << mask.causal
              << " window " << mask.window;
        }
      }
    }
  }
}

TEST(AttentionTest, AQueryAloneHasTheSameBits) {
  constexpr std::size_t kDim = 32, kKeys = 150;
  const std::vector<float> q = Random(kKeys * kDim, 1), kv = Random(kKeys * 2 * kDim, 2);
  std::vector<std::uint32_t> index(kKeys);
  for (std::size_t i = 0; i < kKeys; ++i) index[i] = static_cast<std::uint32_t>(i);
  for (const AttentionVariant& variant : AttentionVariants()) {
    if (!CpuFeatures::Detect().Has(variant.needs)) continue;
    for (Mask mask : {Mask{false, 0}, Mask{true, 0}, Mask{true, 20}, Mask{false, 20}}) {
      const auto all = Attend(*variant.run, kDim, mask, q, kv, index);
      for (std::size_t i = 0; i < kKeys; ++i) {
        const auto row = q.begin() + static_cast<std::ptrdiff_t>(i * kDim);
        const auto alone = Attend(*variant.run, kDim, mask, {row, row + kDim}, kv,
                                  {static_cast<std::uint32_t>(i)});
        ASSERT_EQ(std::memcmp(alone.data(), &all[i * kDim], kDim * sizeof(float)), 0)
            << variant.name << " query " << i;
      }
    }
  }
}

TEST(AttentionTest, RoundedVariantsAreNearF32) {
  const CpuFeatures features = CpuFeatures::Detect();
  for (const AttentionVariant& variant : AttentionVariants()) {
    if (!features.Has(variant.needs) || variant.run->per_slot == 1) continue;
    for (std::size_t dim : {1u, 5u, 24u, 32u, 33u, 64u, 128u, 256u}) {
      for (std::size_t n_keys : {1u, 2u, 17u, 63u, 64u, 65u, 130u}) {
        std::vector<float> q = Random(n_keys * dim, 1);
        // Scores of order one: what bf16 does to them is then small.
        for (float& x : q) x /= std::sqrt(static_cast<float>(dim));
        const std::vector<float> kv = Random(n_keys * 2 * dim, 2);
        std::vector<std::uint32_t> index(n_keys);
        for (std::size_t i = 0; i < n_keys; ++i) index[i] = static_cast<std::uint32_t>(i);
        for (Mask mask : {Mask{false, 0}, Mask{true, 0}, Mask{false, 20}}) {
          const auto want = Attend(kAttentionScalar, dim, mask, q, kv, index);
          const auto got = Attend(*variant.run, dim, mask, q, kv, index);
          double error = 0, size = 0;
          for (std::size_t i = 0; i < want.size(); ++i) {
            error += std::pow(double{got[i]} - want[i], 2);
            size += std::pow(double{want[i]}, 2);
          }
          // Scores of up to 4, rounded to 2^-9 of their size on either side, are off by 0.016 at
          // worst.
          ASSERT_LT(std::sqrt(error / size), 0.01)
              << variant.name << " dim " << dim << " keys " << n_keys;
        }
      }
    }
  }
}

// More keys than one segment of any variant.
TEST(AttentionTest, LongTextsAreNearF32AndQueriesAloneHaveTheSameBits) {
  constexpr std::size_t kDim = 48, kKeys = 1100;
  std::vector<float> q = Random(kKeys * kDim, 1);
  for (float& x : q) x /= std::sqrt(static_cast<float>(kDim));
  const std::vector<float> kv = Random(kKeys * 2 * kDim, 2);
  const std::vector<std::uint32_t> index = {0, 31, 32, 400, 511, 512, 600, 777, 1030, 1099};
  std::vector<float> asked;
  for (const std::uint32_t i : index) {
    const auto row = q.begin() + static_cast<std::ptrdiff_t>(i * kDim);
    asked.insert(asked.end(), row, row + kDim);
  }
  for (const AttentionVariant& variant : AttentionVariants()) {
    if (!CpuFeatures::Detect().Has(variant.needs)) continue;
    for (Mask mask : {Mask{false, 0}, Mask{true, 0}, Mask{true, 200}, Mask{false, 40}}) {
      const auto want = Attend(kAttentionScalar, kDim, mask, asked, kv, index);
      const auto got = Attend(*variant.run, kDim, mask, asked, kv, index);
      double error = 0, size = 0;
      for (std::size_t i = 0; i < want.size(); ++i) {
        error += std::pow(double{got[i]} - want[i], 2);
        size += std::pow(double{want[i]}, 2);
      }
      ASSERT_LE(std::sqrt(error / size), variant.run->per_slot == 1 ? 0.0 : 0.01) << variant.name;
      for (std::size_t i = 0; i < index.size(); ++i) {
        const auto row = asked.begin() + static_cast<std::ptrdiff_t>(i * kDim);
        const auto alone = Attend(*variant.run, kDim, mask, {row, row + kDim}, kv, {index[i]});
        ASSERT_EQ(std::memcmp(alone.data(), &got[i * kDim], kDim * sizeof(float)), 0)
            << variant.name << " query " << index[i];
      }
    }
  }
}

TEST(AttentionTest, LargeScoresDoNotOverflow) {
  constexpr std::size_t kDim = 16, kKeys = 70;
  std::vector<float> q(kDim, 100.0f), kv(kKeys * 2 * kDim, 0.0f);
  for (std::size_t j = 0; j < kKeys; ++j) {
    for (std::size_t d = 0; d < kDim; ++d) {
      kv[j * 2 * kDim + d] = j == 66 ? 100.0f : -100.0f;
      kv[j * 2 * kDim + kDim + d] = static_cast<float>(j);
    }
  }
  for (const AttentionVariant& variant : AttentionVariants()) {
    if (!CpuFeatures::Detect().Has(variant.needs)) continue;
    const auto out = Attend(*variant.run, kDim, {false, 0}, q, kv, {0});
    EXPECT_EQ(out, std::vector<float>(kDim, 66.0f)) << variant.name;
  }
}

}  // namespace
}  // namespace lattice::kernels
