#include "kernels/cpu/stored/stored_linear.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/cpu/stored/random_weights.h"
#include "numeric/float16.h"
#include "numeric/quantise_blocks.h"

namespace lattice::kernels {
namespace {

using Floats = std::vector<float>;

constexpr Precision kPrecisions[] = {Precision::kF32, Precision::kBf16, Precision::kInt8,
                                     Precision::kInt16};

std::vector<Dtype> AllDtypes() {
  std::vector<Dtype> all(std::begin(kFloatDtypes), std::end(kFloatDtypes));
  for (const Dtype dtype : kBlockDtypes) all.push_back(dtype);
  return all;
}

// Every instruction set of this machine that a kernel of stored weights tells apart.
std::vector<CpuFeatures> FeatureSets() {
  std::vector<CpuFeatures> sets;
  for (const char* name : {"scalar", "avx2", "avxvnni", "avx512", "avx512vnni", "avx512bf16", "amx",
                           "neon", "neon_dotprod", "neon_i8mm", "neon_bf16"}) {
    if (const auto set = CpuFeatures::Named(name); set) sets.push_back(*set);
  }
  return sets;
}

// One layer on a pool of its own.
class Layer {
 public:
  Layer(std::span<const HostTensor> matrices, std::span<const HostTensor> biases,
        Precision precision, std::size_t n_threads, CpuFeatures features = CpuFeatures::Detect())
      : pool_(n_threads),
        weights_(
            MakeCpuStoredLinear(pool_, memory_, matrices, biases, precision, features).value()) {}

  Floats Run(std::span<const float> x, Activation activation = Activation::kNone,
             std::span<const float> residual = {}) {
    const std::size_t rows = x.size() / weights_->inputs();
    CpuBuffer in, out;
    in.Reshape(rows, weights_->inputs());
    std::ranges::copy(x, in.data());
    out.Reshape(rows, weights_->outputs());
    std::ranges::copy(residual, out.data());
    // The residual may be the output itself.
    const Epilogue epilogue = {activation, residual.empty() ? nullptr : &out};
    static_cast<const CpuLinear&>(*weights_).Run(pool_, in, epilogue, out);
    return {out.data(), out.data() + rows * weights_->outputs()};
  }

 private:
  ThreadPool pool_;
  ProcessWeightMemory memory_;
  std::unique_ptr<LinearWeights> weights_;
};

// Root mean square of the difference to exact products, relative to their own.
double RelativeError(const RandomWeights& weights, std::span<const float> x, const Floats& y) {
  const HostTensor tensor = weights.tensor();
  const Floats w = weights.Values();
  double error = 0, size = 0;
  for (std::size_t i = 0; i < x.size() / tensor.cols; ++i) {
    for (std::size_t j = 0; j < tensor.rows; ++j) {
      double exact = 0;
      for (std::size_t t = 0; t < tensor.cols; ++t) {
        exact += double{x[i * tensor.cols + t]} * w[j * tensor.cols + t];
      }
      const double difference = y[i * tensor.rows + j] - exact;
      error += difference * difference;
      size += exact * exact;
    }
  }
  return std::sqrt(error / size);
}

// Two roundings to 8 bits of mantissa, each uniform within 2^-9 of a value; and activations in
// steps of 1/127 of a block's largest, about 2.2 deviations: 0.5 % of a deviation, or a 254th of
// that when its rest is quantised, too.
double Tolerance(Precision precision, Dtype dtype) {
  if (precision == Precision::kF32) return 1e-6;
  if (precision == Precision::kBf16) return 0.003;
  if (precision == Precision::kInt8) return 0.007;
  return IsBlock(dtype) ? 3e-5 : dtype == Dtype::kBf16 ? 0.003 : 1e-6;
}

TEST(StoredLinearTest, EveryDtypeOnEveryInstructionSetIsNearTheExactProduct) {
  constexpr std::size_t kInputs = 768, kOutputs = 37;
  for (const Dtype dtype : AllDtypes()) {
    const RandomWeights weights(dtype, kOutputs, kInputs, 1);
    const HostTensor tensor = weights.tensor();
    for (const std::size_t rows : {1, 9}) {
      const Floats x = RandomFloats(rows * kInputs, 2);
      for (const Precision precision : kPrecisions) {
        for (const CpuFeatures features : FeatureSets()) {
          Layer layer({&tensor, 1}, {}, precision, 1, features);
          EXPECT_LT(RelativeError(weights, x, layer.Run(x)), Tolerance(precision, dtype))
              << DtypeName(dtype) << " precision " << static_cast<int>(precision) << " on "
              << features.ToString();
        }
      }
    }
  }
}

TEST(StoredLinearTest, BitsDoNotDependOnThreadsOrOnTheBatch) {
  constexpr std::size_t kRows = 70, kInputs = 1280, kOutputs = 53;
  const Floats x = RandomFloats(kRows * kInputs, 3), residual = RandomFloats(kRows * kOutputs, 4);
  const Floats b = RandomFloats(kOutputs, 2);
  const HostTensor bias = {Dtype::kF32, 1, kOutputs, std::as_bytes(std::span(b)), {}};
  for (const Dtype dtype : AllDtypes()) {
    const RandomWeights weights(dtype, kOutputs, kInputs, 1);
    const HostTensor matrix = weights.tensor();
    for (const Precision precision : kPrecisions) {
      const Floats want =
          Layer({&matrix, 1}, {&bias, 1}, precision, 1).Run(x, Activation::kSilu, residual);
      for (const std::size_t n_threads : {1, 2, 3}) {
        Layer layer({&matrix, 1}, {&bias, 1}, precision, n_threads);
        for (const std::size_t n : {1, 2, 5, 7, 33, 64, 70}) {
          const Floats got = layer.Run(std::span(x).last(n * kInputs), Activation::kSilu,
                                       std::span(residual).last(n * kOutputs));
          const std::span<const float> part = std::span(want).last(n * kOutputs);
          EXPECT_TRUE(std::ranges::equal(got, part))
              << DtypeName(dtype) << " precision " << static_cast<int>(precision) << ", " << n
              << " rows, " << n_threads << " threads";
        }
      }
    }
  }
}

TEST(StoredLinearTest, AnyNumberOfInputsAndAnyAlignment) {
  for (const Dtype dtype : kFloatDtypes) {
    for (const std::size_t inputs : {1, 7, 15, 16, 17, 31, 33, 63, 95, 130}) {
      constexpr std::size_t kOutputs = 6, kRows = 8;
      const RandomWeights weights(dtype, kOutputs, inputs, 5);
      HostTensor tensor = weights.tensor();
      // A sanitizer sees any step outside.
      std::vector<std::byte> moved(tensor.bytes.size() + 1);
      std::ranges::copy(tensor.bytes, moved.begin() + 1);
      tensor.bytes = std::span(moved).subspan(1);
      const Floats x = RandomFloats(kRows * inputs, 6);
      for (const CpuFeatures features : FeatureSets()) {
        for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
          Layer layer({&tensor, 1}, {}, precision, 1, features);
          const Floats y = layer.Run(x);
          EXPECT_LT(RelativeError(weights, x, y), 3 * Tolerance(precision, dtype)) << inputs;
          EXPECT_EQ(layer.Run(std::span(x).first(inputs)), Floats(y.begin(), y.begin() + kOutputs));
        }
      }
    }
  }
}

TEST(StoredLinearTest, ManyRowsGiveTheBitsOfOneForAnyShape) {
  for (const std::size_t inputs : {1, 15, 31, 33, 95, 130, 544}) {
    for (const std::size_t outputs : {5, 16, 33}) {
      for (const std::size_t n : {23, 24, 31, 50}) {
        const RandomWeights weights(Dtype::kBf16, outputs, inputs, 5);
        const HostTensor tensor = weights.tensor();
        const Floats x = RandomFloats(n * inputs, 2);
        for (const CpuFeatures features : FeatureSets()) {
          Layer layer({&tensor, 1}, {}, Precision::kBf16, 1, features);
          const Floats all = layer.Run(x);
          for (std::size_t i = 0; i < n; i += 7) {
            const Floats one = layer.Run(std::span(x).subspan(i * inputs, inputs));
            ASSERT_TRUE(std::equal(one.begin(), one.end(), all.begin() + i * outputs))
                << inputs << " inputs, " << outputs << " outputs, row " << i << " of " << n;
          }
        }
      }
    }
  }
}

TEST(StoredLinearTest, StackedMatricesGiveWhatEachGivesAlone) {
  constexpr std::size_t kInputs = 256, kRows = 3;
  const RandomWeights weights[] = {{Dtype::kBf16, 33, kInputs, 1},
                                   {Dtype::kQ4K, 40, kInputs, 2},
                                   {Dtype::kQ6K, 5, kInputs, 3},
                                   {Dtype::kF32, 64, kInputs, 4}};
  const Floats x = RandomFloats(kRows * kInputs, 6), b = RandomFloats(40, 7);
  std::vector<HostTensor> matrices, biases(4);
  for (const RandomWeights& w : weights) matrices.push_back(w.tensor());
  biases[1] = {Dtype::kF32, 1, 40, std::as_bytes(std::span(b)), {}};
  for (const Precision precision : kPrecisions) {
    const Floats all = Layer(matrices, biases, precision, 2).Run(x, Activation::kTanh);
    constexpr std::size_t kOutputs = 33 + 40 + 5 + 64;
    ASSERT_EQ(all.size(), kRows * kOutputs);
    std::size_t col = 0;
    for (std::size_t k = 0; k < matrices.size(); ++k) {
      const std::size_t n = matrices[k].rows;
      const Floats alone =
          Layer({&matrices[k], 1}, {&biases[k], 1}, precision, 1).Run(x, Activation::kTanh);
      for (std::size_t i = 0; i < kRows; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          ASSERT_EQ(all[i * kOutputs + col + j], alone[i * n + j]) << k;
        }
      }
      col += n;
    }
  }
}

TEST(StoredLinearTest, RowsComeInTheOrderThatIsAskedFor) {
  constexpr std::size_t kInputs = 256, kOutputs = 50;
  const Floats x = RandomFloats(2 * kInputs, 6);
  std::vector<std::uint32_t> order(kOutputs);
  for (std::size_t j = 0; j < kOutputs; ++j)
    order[j] = static_cast<std::uint32_t>(7 * j % kOutputs);
  for (const Dtype dtype : {Dtype::kBf16, Dtype::kQ4K, Dtype::kF32}) {
    const RandomWeights weights(dtype, kOutputs, kInputs, 1);
    HostTensor tensor = weights.tensor();
    for (const Precision precision : kPrecisions) {
      tensor.row_order = {};
      const Floats plain = Layer({&tensor, 1}, {}, precision, 2).Run(x);
      tensor.row_order = order;
      const Floats moved = Layer({&tensor, 1}, {}, precision, 2).Run(x);
      for (std::size_t i = 0; i < 2; ++i) {
        for (std::size_t j = 0; j < kOutputs; ++j) {
          ASSERT_EQ(moved[i * kOutputs + j], plain[i * kOutputs + order[j]]);
        }
      }
    }
  }
}

TEST(StoredLinearTest, ASubsetOfRowsMayBeTaken) {
  const RandomWeights weights(Dtype::kF32, 10, 4, 1);
  HostTensor tensor = weights.tensor();
  const Floats x = RandomFloats(4, 2);
  const Floats all = Layer({&tensor, 1}, {}, Precision::kF32, 1).Run(x);
  const std::vector<std::uint32_t> order = {9, 2};
  tensor.rows = 2;
  tensor.row_order = order;
  EXPECT_EQ(Layer({&tensor, 1}, {}, Precision::kF32, 1).Run(x), (Floats{all[9], all[2]}));
}

TEST(StoredLinearTest, WeightsKeptInAnotherFormatComputeAsIfTheFileHadIt) {
  constexpr std::size_t kInputs = 768, kOutputs = 37, kRows = 6;
  const RandomWeights weights(Dtype::kBf16, kOutputs, kInputs, 1);
  const Floats x = RandomFloats(kRows * kInputs, 2);
  std::vector<std::uint32_t> order(kOutputs);
  for (std::size_t j = 0; j < kOutputs; ++j) {
    order[j] = static_cast<std::uint32_t>(7 * j % kOutputs);
  }
  for (const Dtype dtype : kBlockDtypes) {
    if (!CanQuantise(dtype)) continue;
    std::vector<std::byte> bytes(StorageBytes(dtype, kOutputs * kInputs));
    QuantiseBlocks(dtype, weights.Values(), bytes);
    const HostTensor quantised = {dtype, kOutputs, kInputs, bytes, order};
    HostTensor plain = weights.tensor();
    plain.row_order = order;
    plain.store_as = dtype;
    for (const Precision precision : kPrecisions) {
      EXPECT_EQ(Layer({&plain, 1}, {}, precision, 2).Run(x),
                Layer({&quantised, 1}, {}, precision, 1).Run(x))
          << DtypeName(dtype) << " precision " << static_cast<int>(precision);
    }
  }
}

// Pieces that a first start filled, for a second.
class FilledMemory : public WeightMemory {
 public:
  explicit FilledMemory(bool filled) : filled_(filled) {}
  Result<Piece> Take(std::size_t size_bytes, std::uint64_t tag) override {
    if (!filled_) {
      pieces.emplace_back(size_bytes);
      tags.push_back(tag);
    }
    const std::size_t i = next_++ % pieces.size();
    EXPECT_EQ(pieces[i].size(), size_bytes);
    EXPECT_EQ(tags[i], tag);
    return Piece{{pieces[i].data(), size_bytes}, filled_};
  }
  void Fill() { filled_ = true, next_ = 0; }
  std::vector<AlignedBuffer> pieces;
  std::vector<std::uint64_t> tags;

 private:
  bool filled_;
  std::size_t next_ = 0;
};

TEST(StoredLinearTest, ASecondStartReadsNoWeights) {
  constexpr std::size_t kInputs = 256;
  const RandomWeights first(Dtype::kQ4K, 33, kInputs, 1), second(Dtype::kBf16, 5, kInputs, 2);
  HostTensor tensors[] = {first.tensor(), second.tensor()};
  tensors[1].store_as = Dtype::kQ8_0;
  const Floats x = RandomFloats(kInputs, 3);
  for (const Precision precision : {Precision::kInt8, Precision::kF32}) {
    FilledMemory memory(false);
    ThreadPool pool(2);
    const auto run = [&](std::span<const HostTensor> matrices) {
      const auto layer =
          MakeCpuStoredLinear(pool, memory, matrices, {}, precision, CpuFeatures::Detect()).value();
      CpuBuffer in, out;
      in.Reshape(1, kInputs);
      std::ranges::copy(x, in.data());
      static_cast<const CpuLinear&>(*layer).Run(pool, in, {}, out);
      return Floats(out.data(), out.data() + 38);
    };
    const Floats want = run(tensors);
    EXPECT_EQ(memory.pieces.size(), precision == Precision::kInt8 ? 2u : 1u);
    memory.Fill();
    const RandomWeights other(Dtype::kBf16, 5, kInputs, 4);
    HostTensor changed[] = {tensors[0], other.tensor()};
    changed[1].store_as = Dtype::kQ8_0;
    EXPECT_EQ(run(changed), want);
  }
}

TEST(StoredLinearTest, ValuesThatCannotBeKeptAsAskedAreRefused) {
  RandomWeights weights(Dtype::kF32, 3, 64, 1);
  const auto code = [](HostTensor tensor, Dtype as, Precision precision) {
    tensor.store_as = as;
    ThreadPool pool(1);
    ProcessWeightMemory memory;
    const auto made =
        MakeCpuStoredLinear(pool, memory, {&tensor, 1}, {}, precision, CpuFeatures::Detect());
    return made ? ErrorCode::kInternal : made.error().code;
  };
  for (const Precision precision : kPrecisions) {
    EXPECT_EQ(code(weights.tensor(), Dtype::kIq4Nl, precision), ErrorCode::kUnsupported);
    EXPECT_EQ(code(weights.tensor(), Dtype::kBf16, precision), ErrorCode::kUnsupported);
    for (const float bad : {NAN, INFINITY, 65536.0f}) {
      const RandomWeights source(Dtype::kF32, 3, 64, 1);
      Floats values = source.Values();
      values[100] = bad;
      const HostTensor tensor = {Dtype::kF32, 3, 64, std::as_bytes(std::span(values))};
      EXPECT_EQ(code(tensor, Dtype::kQ4_0, precision), ErrorCode::kCorruptData);
    }
    const RandomWeights odd(Dtype::kF32, 3, 48, 1);
    EXPECT_EQ(code(odd.tensor(), Dtype::kQ4_0, precision), ErrorCode::kInvalidArgument);
  }
}

TEST(StoredLinearTest, ShapesThatDoNotFitAreRefused) {
  const RandomWeights f32(Dtype::kF32, 4, 3, 1), q8(Dtype::kQ8_0, 4, 64, 1);
  const auto error = [](std::vector<HostTensor> matrices, std::vector<HostTensor> biases) {
    ThreadPool pool(1);
    ProcessWeightMemory memory;
    const auto made =
        MakeCpuStoredLinear(pool, memory, matrices, biases, Precision::kF32, CpuFeatures::Detect());
    return made ? "made" : made.error().message;
  };
  HostTensor good = f32.tensor(), block = q8.tensor();
  EXPECT_EQ(error({good}, {}), "made");
  EXPECT_EQ(error({block}, {}), "made");
  EXPECT_NE(error({}, {}), "made");
  EXPECT_NE(error({good}, {HostTensor{}, HostTensor{}}), "made");
  EXPECT_NE(error({good, block}, {}), "made");  // width
  HostTensor half = block;                      // 2 rows of 16 more than whole blocks
  half.rows = 2, half.cols = 48, half.bytes = half.bytes.first(2 * 48 / 32 * 34);
  EXPECT_NE(error({half}, {}), "made");
  const std::vector<std::uint32_t> outside = {0, 1, 2, 4}, few = {0, 1};
  HostTensor ordered = good;
  ordered.row_order = outside;
  EXPECT_NE(error({ordered}, {}), "made");
  ordered.row_order = few;
  EXPECT_NE(error({ordered}, {}), "made");
}

}  // namespace
}  // namespace lattice::kernels
