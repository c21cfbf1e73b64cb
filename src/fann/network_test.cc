#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "base/cpu_features.h"
#include "base/test_folder.h"
#include "lattice/fann.h"
#include "numeric/random.h"

namespace {
std::atomic<std::size_t> n_allocations{0};  // NOLINT: operator new has no other place
}

[[gnu::noinline]] void* operator new(std::size_t size) {
  ++n_allocations;
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace lattice::fann {
namespace {

std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

std::vector<float> Values(std::size_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(random.Normal());
  return x;
}

Network EveryActivation() {
  auto made = NetworkBuilder(7)
                  .Layer(40, Activation::kGelu, {.layer_norm = true, .name = "first"})
                  .Layer(17, Activation::kLeakyRelu, {.slope = 0.3f, .dropout = 0.5f})
                  .Layer(16, Activation::kTanh)
                  .Layer(5, Activation::kSilu)
                  .Layer(9, Activation::kSigmoid)
                  .Layer(33, Activation::kRelu)
                  .Layer(3, Activation::kSoftmax)
                  .Build(3);
  return std::move(made).value();
}

double Activated(const LayerInfo& layer, double z) {
  switch (layer.activation) {
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-z));
    case Activation::kTanh:
      return std::tanh(z);
    case Activation::kRelu:
      return std::max(z, 0.0);
    case Activation::kLeakyRelu:
      return z > 0 ? z : layer.slope * z;
    case Activation::kGelu:
      return 0.5 * z * (1 + std::tanh(0.7978845608028654 * (z + 0.044715 * z * z * z)));
    case Activation::kSilu:
      return z / (1 + std::exp(-z));
    case Activation::kLinear:
    case Activation::kSoftmax:
      return z;
  }
  return z;
}

// What the network gives for one row, in f64 from the public parameters.
std::vector<double> Reference(const Network& network, std::span<const float> input) {
  const std::vector<float> all = network.Parameters();
  const float* p = all.data();
  std::vector<double> x(input.begin(), input.end());
  for (std::size_t l = 0; l < network.n_layers(); ++l) {
    const LayerInfo& layer = network.layer(l);
    std::vector<double> z(layer.n_outputs);
    for (std::size_t o = 0; o < layer.n_outputs; ++o) {
      for (std::size_t i = 0; i < layer.n_inputs; ++i) z[o] += x[i] * *p++;
    }
    for (double& v : z) v += *p++;
    if (layer.layer_norm) {
      double mean = 0, variance = 0;
      for (const double v : z) mean += v / static_cast<double>(z.size());
      for (const double v : z) variance += (v - mean) * (v - mean) / static_cast<double>(z.size());
      for (double& v : z) v = (v - mean) / std::sqrt(variance + 1e-5) * *p++;
      for (double& v : z) v += *p++;
    }
    for (double& v : z) v = Activated(layer, v);
    if (layer.activation == Activation::kSoftmax) {
      double sum = 0;
      for (double& v : z) sum += v = std::exp(v);
      for (double& v : z) v /= sum;
    }
    x = z;
  }
  return x;
}

TEST(NetworkTest, GivesWhatItsDefinitionSays) {
  const Network network = EveryActivation();
  EXPECT_EQ(network.Summary(),
            "7 -> norm gelu 40 -> leaky_relu 17 -> tanh 16 -> silu 5 -> sigmoid 9 -> relu 33 -> "
            "softmax 3");
  const auto inputs = Values(20 * 7, 1);
  std::vector<float> outputs(20 * 3);
  auto runner = Runner::Create(network);
  ASSERT_TRUE(runner->Run(inputs, outputs));
  for (std::size_t r = 0; r < 20; ++r) {
    const auto expected = Reference(network, std::span(inputs).subspan(r * 7, 7));
    for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(outputs[r * 3 + j], expected[j], 2e-6);
  }
}

TEST(NetworkTest, ARowAloneHasTheBitsOfTheBatch) {
  const Network network = EveryActivation();
  constexpr std::size_t kRows = 250;
  const auto inputs = Values(kRows * 7, 2);
  std::vector<float> whole(kRows * 3), alone(kRows * 3);
  auto one = Runner::Create(network);
  ASSERT_TRUE(one->Run(inputs, whole));
  for (std::size_t r = 0; r < kRows; ++r) {
    ASSERT_TRUE(one->Run(std::span(inputs).subspan(r * 7, 7), std::span(alone).subspan(r * 3, 3)));
  }
  EXPECT_EQ(alone, whole);
  for (const char* const name : {"scalar", "avx2", "avx512", "neon"}) {
    auto other = Runner::Create(network, {.n_threads = 3, .instruction_set = name});
    if (!other) continue;  // Not on this processor.
    ASSERT_TRUE(other->Run(inputs, alone));
    EXPECT_EQ(alone, whole) << name;
  }
}

TEST(NetworkTest, RunningAllocatesNothing) {
  const Network network = EveryActivation();
  const auto inputs = Values(300 * 7, 2);
  std::vector<float> outputs(300 * 3);
  auto runner = Runner::Create(network);
  const std::size_t before = n_allocations;
  const bool ran = runner->Run(inputs, outputs).has_value();
  EXPECT_EQ(n_allocations, before);
  EXPECT_TRUE(ran);
}

TEST(NetworkTest, TheSeedDecidesAndStartsHaveTheirVariance) {
  const auto made = [](std::uint64_t seed, Activation activation) {
    return NetworkBuilder(200).Layer(100, activation).Build(seed).value().Parameters();
  };
  EXPECT_EQ(made(1, Activation::kRelu), made(1, Activation::kRelu));
  EXPECT_NE(made(1, Activation::kRelu), made(2, Activation::kRelu));
  const auto variance = [](const std::vector<float>& p) {
    double sum = 0;
    for (std::size_t i = 0; i < 20'000; ++i) sum += static_cast<double>(p[i]) * p[i];
    return sum / 20'000;
  };
  EXPECT_NEAR(variance(made(1, Activation::kRelu)), 2.0 / 200, 3e-4);
  EXPECT_NEAR(variance(made(1, Activation::kTanh)), 2.0 / 300, 3e-4);
}

TEST(NetworkTest, MistakesAreTold) {
  const auto fails = [](const NetworkBuilder& builder, std::string_view part) {
    const auto made = builder.Build(1);
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message.find(part), std::string::npos) << made.error().message;
  };
  fails(NetworkBuilder(3), "at least one layer");
  fails(NetworkBuilder(0).Layer(2, Activation::kRelu), "inputs and outputs");
  fails(NetworkBuilder(2).Layer(0, Activation::kRelu), "inputs and outputs");
  fails(NetworkBuilder(1u << 20).Layer(1u << 20, Activation::kRelu), "100 million");
  fails(NetworkBuilder(2).Layer(2, Activation::kSoftmax).Layer(2, Activation::kRelu), "come last");
  fails(
      NetworkBuilder(2).Layer(2, Activation::kRelu, {.dropout = 1.0f}).Layer(2, Activation::kRelu),
      "dropout");
  fails(NetworkBuilder(2).Layer(2, Activation::kLeakyRelu, {.slope = NAN}), "slope");
  Network network = NetworkBuilder(2).Layer(2, Activation::kRelu).Build(1).value();
  EXPECT_FALSE(network.SetParameters(std::vector<float>(5)));
  EXPECT_FALSE(network.SetParameters(std::vector<float>(6, NAN)));
  EXPECT_FALSE(network.SetNames("", {"one"}, {}));
  auto runner = Runner::Create(network);
  std::vector<float> out(2);
  EXPECT_FALSE(runner->Run(std::vector<float>{1.0f, INFINITY}, out));
  EXPECT_FALSE(runner->Run(std::vector<float>{1.0f}, out));
  ASSERT_TRUE(network.SetParameters(std::vector<float>(6, 3e38f)));
  EXPECT_FALSE(runner->Run(std::vector<float>{3.0f, 3.0f}, out));
  EXPECT_FALSE(Runner::Create(network, {.instruction_set = "abacus"}));
}

// "FANN", version 1, two layers, written by hand from the format's description.
std::string FirstVersionFile() {
  std::string bytes = "FANN";
  const auto number = [&](auto value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  number(std::uint32_t{1});
  number(std::uint32_t{2});
  number(std::uint32_t{2});  // inputs
  number(std::uint32_t{3});  // outputs
  bytes += '\x04';           // leaky ReLU with its slope
  number(0.25f);
  for (const float w : {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}) number(w);
  for (const float b : {0.5f, -10.0f, 0.0f}) number(b);
  number(std::uint32_t{3});
  number(std::uint32_t{1});
  bytes += '\x00';
  for (const float w : {1.0f, 10.0f, 100.0f}) number(w);
  number(7.0f);
  return bytes;
}

TEST(NetworkFileTest, TheFirstVersionIsKeptByteForByte) {
  const std::string file = FirstVersionFile();
  const auto network = ParseNetwork(Bytes(file));
  ASSERT_TRUE(network) << network.error().message;
  EXPECT_EQ(Serialise(*network, FileVersion::kFirst).value(), file);
  auto runner = Runner::Create(*network);
  float out = 0;
  // Sums 3.5, 3 + 4 - 10 = -3 (of which a quarter), 11.
  ASSERT_TRUE(runner->Run(std::vector<float>{1.0f, 1.0f}, {&out, 1}));
  EXPECT_FLOAT_EQ(out, 3.5f - 7.5f + 1100.0f + 7.0f);
  EXPECT_EQ(Serialise(EveryActivation(), FileVersion::kFirst).error().code,
            ErrorCode::kUnsupported);
}

TEST(NetworkFileTest, TheSecondVersionKeepsEverything) {
  Network network = EveryActivation();
  ASSERT_TRUE(
      network.SetNames("router", std::vector<std::string>(7, "in"), {"a", "b", "\xC3\xA9"}));
  const TestFolder folder;
  ASSERT_TRUE(SaveNetwork(network, folder.path() / "n.fann"));
  const auto read = LoadNetwork(folder.path() / "n.fann");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->Parameters(), network.Parameters());
  EXPECT_EQ(read->Summary(), network.Summary());
  EXPECT_EQ(read->name(), "router");
  EXPECT_EQ(read->output_names(), network.output_names());
  EXPECT_EQ(read->layer(0).name, "first");
  EXPECT_EQ(read->layer(1).dropout, 0.5f);
  EXPECT_EQ(Serialise(*read).value(), Serialise(network).value());
  EXPECT_EQ(LoadNetwork(folder.path() / "none.fann").error().code, ErrorCode::kNotFound);
}

TEST(NetworkFileTest, EveryCutAndEveryFlippedByteIsFound) {
  const std::string second =
      Serialise(
          NetworkBuilder(2).Layer(3, Activation::kGelu, {.layer_norm = true}).Build(1).value())
          .value();
  for (const std::string& file : {FirstVersionFile(), second}) {
    for (std::size_t n = 0; n < file.size(); ++n) {
      EXPECT_FALSE(ParseNetwork(Bytes(file).first(n))) << n;
    }
    EXPECT_FALSE(ParseNetwork(Bytes(file + "x")));
  }
  for (std::size_t i = 0; i < second.size(); ++i) {
    std::string damaged = second;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_FALSE(ParseNetwork(Bytes(damaged))) << i;
  }
}

TEST(NetworkFileTest, BadFilesAreRefused) {
  struct Row {
    const char* what;
    std::size_t at;
    std::uint32_t value;
    ErrorCode code;
  };
  const Row rows[] = {
      {"another magic", 0, 0x4E4E4146 + 1, ErrorCode::kCorruptData},
      {"a later version", 4, 3, ErrorCode::kUnsupported},
      {"version 0", 4, 0, ErrorCode::kUnsupported},
      {"no layers", 8, 0, ErrorCode::kCorruptData},
      {"more layers than there are", 8, 3, ErrorCode::kCorruptData},
      {"four billion layers", 8, 0xFFFFFFFF, ErrorCode::kCorruptData},
      {"no inputs", 12, 0, ErrorCode::kCorruptData},
      {"four billion inputs", 12, 0xFFFFFFFF, ErrorCode::kCorruptData},
      {"no outputs", 16, 0, ErrorCode::kCorruptData},
      {"four billion outputs", 16, 0xFFFFFFFF, ErrorCode::kCorruptData},
      {"an unknown activation", 20, 0x00000006, ErrorCode::kCorruptData},
      {"softmax before the end", 20, 0x00000005, ErrorCode::kCorruptData},
      {"a slope that is no number", 21, 0x7FC00000, ErrorCode::kCorruptData},
      {"an infinite weight", 25, 0x7F800000, ErrorCode::kCorruptData},
      {"a second layer of other inputs", 61, 4, ErrorCode::kCorruptData},
  };
  for (const Row& row : rows) {
    std::string file = FirstVersionFile();
    std::memcpy(file.data() + row.at, &row.value, sizeof(row.value));
    const auto network = ParseNetwork(Bytes(file));
    ASSERT_FALSE(network) << row.what;
    EXPECT_EQ(network.error().code, row.code) << row.what << ": " << network.error().message;
  }
}

}  // namespace
}  // namespace lattice::fann
