// Real models in GGUF files against the reference's values for the same weights, expanded to f32.
#include <gtest/gtest.h>

#include <boost/json/value_to.hpp>
#include <iostream>

#include "base/files.h"
#include "base/json.h"
#include "models/test_generator.h"

namespace lattice::models {
namespace {

#ifdef NDEBUG
constexpr bool kChecked = false;
#else
constexpr bool kChecked = true;
#endif

struct RealModel {
  const char* name;
  const char* file;
};

constexpr RealModel kModels[] = {{"smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"},
                                 {"gemma3", "gemma-3-270m-q4_k_m.gguf"}};

/// First place of a list of probabilities, and what its logarithms are.
struct LogProbabilities {
  explicit LogProbabilities(std::span<const float> logits)
      : best(Best(logits)), values(logits.begin(), logits.end()) {
    const double top = values[static_cast<std::size_t>(best)];
    double sum = 0;
    for (const double value : values) sum += std::exp(value - top);
    log_sum = top + std::log(sum);
    for (double& value : values) value -= log_sum;
  }
  TokenId best;
  double log_sum;
  std::vector<double> values;
};

class RealGeneratorTest : public testing::TestWithParam<RealModel> {
 protected:
  void SetUp() override {
    const std::filesystem::path references(LATTICE_REFERENCE_FIXTURES);
    const std::filesystem::path models(LATTICE_TEST_MODELS);
    folder_ = references / "real";
    file_ = models / "gguf" / GetParam().file;
    if (references.empty() || !std::filesystem::exists(Part(".json"))) {
      GTEST_SKIP() << "SKIPPED: configure with -DLATTICE_REFERENCE_FIXTURES=FOLDER for "
                   << GetParam().name;
    }
    if (models.empty() || !std::filesystem::exists(file_)) {
      GTEST_SKIP() << "SKIPPED: configure with -DLATTICE_TEST_MODELS=FOLDER that has gguf/"
                   << GetParam().file;
    }
    golden_ = std::make_unique<Golden>(Part(".safetensors"));
    json_ = ParseJson(ReadFile(Part(".json"), 1 << 20).value()).value();
  }
  std::filesystem::path Part(const char* ending) const {
    return folder_ / (std::string(GetParam().name) + ending);
  }
  const boost::json::array& prompts() const { return json_.at("prompts").as_array(); }
  static Ids IdsOf(const boost::json::value& list) { return boost::json::value_to<Ids>(list); }

  std::filesystem::path folder_, file_;
  std::unique_ptr<Golden> golden_;
  boost::json::value json_;
};

TEST_P(RealGeneratorTest, LogitsEqualTheReference) {
  Generator generator(file_, {.n_threads = 2});
  double worst = 0;
  for (std::size_t i = 0; i < prompts().size(); ++i) {
    const auto& prompt = prompts()[i];
    const auto sequence = generator.store->New();
    const auto logits = generator.Read(*sequence, IdsOf(prompt.at("ids")), /*last_only=*/true);
    const Ids top = IdsOf(prompt.at("top_ids"));
    for (std::size_t k = 0; k < top.size(); ++k) {
      const double want = prompt.at("top_logits").at(k).to_number<double>();
      const double got = static_cast<double>(logits[static_cast<std::size_t>(top[k])]);
      worst = std::max(worst, std::abs(got - want));
    }
    EXPECT_NEAR(LogProbabilities(logits).log_sum, prompt.at("log_sum_exp").to_number<double>(),
                2e-3);
    const std::string name = "prompt" + std::to_string(i) + ".logits";
    if (!golden_->Has(name)) continue;
    const auto all = golden_->Floats(name);
    ASSERT_EQ(all.size(), logits.size());
    for (std::size_t k = 0; k < all.size(); ++k) {
      worst = std::max(worst, static_cast<double>(std::abs(all[k] - logits[k])));
    }
  }
  std::cout << "largest difference of a logit " << worst << "\n";
  EXPECT_LE(worst, 2e-3);
}

TEST_P(RealGeneratorTest, HiddenStatesEqualTheReference) {
  Generator generator(file_, {.n_threads = 2});
  const Ids ids = IdsOf(prompts()[0].at("ids"));
  double worst = 0;
  const auto compare = [&](std::size_t layer, const kernels::Buffer& x) {
    std::vector<float> values(x.rows() * x.cols());
    generator.backend->Read(x, values);
    const auto want = golden_->Floats("prompt0.hidden_last." + std::to_string(layer));
    const auto last = std::span(values).last(want.size());
    double scale = 0, difference = 0;
    for (std::size_t c = 0; c < want.size(); ++c) {
      scale = std::max(scale, static_cast<double>(std::abs(want[c])));
      difference = std::max(difference, static_cast<double>(std::abs(want[c] - last[c])));
    }
    worst = std::max(worst, difference / scale);
  };
  const HiddenTap tap(compare);
  const auto sequence = generator.store->New();
  const Generator::Piece piece{sequence.get(), ids};
  generator.Read({&piece, 1}, /*last_only=*/true, &tap);
  std::cout << "largest difference of a state, of the layer's largest " << worst << "\n";
  EXPECT_LE(worst, 1e-4);
}

TEST_P(RealGeneratorTest, GreedyTokensEqualTheReferenceWhileItIsSure) {
  if (kChecked) GTEST_SKIP() << "SKIPPED: takes minutes in a checked build; run it in release";
  Generator generator(file_, {.n_threads = 2});
  for (const auto& prompt : prompts()) {
    const Ids want = IdsOf(prompt.at("greedy_ids"));
    std::size_t n = 0;
    while (n < want.size() && prompt.at("greedy_margin").at(n).to_number<double>() >= 0.05) ++n;
    if (n == 0) continue;
    const Ids got = Greedy(generator, IdsOf(prompt.at("ids")), n);
    EXPECT_EQ(got, Ids(want.begin(), want.begin() + static_cast<std::ptrdiff_t>(n)));
  }
}

// How far a generator's predictions of a passage are from another's.
class Comparison {
 public:
  void Add(const LogProbabilities& want, const LogProbabilities& got, std::size_t next) {
    nll_ -= got.values[next];
    for (std::size_t k = 0; k < want.values.size(); ++k) {
      divergence_ += std::exp(want.values[k]) * (want.values[k] - got.values[k]);
    }
    n_same_ += want.best == got.best ? 1 : 0;
    n_ += 1;
  }
  double nll() const { return nll_ / n_; }
  double divergence() const { return divergence_ / n_; }
  double same() const { return n_same_ / n_; }

 private:
  double nll_ = 0, divergence_ = 0, n_same_ = 0, n_ = 0;
};

TEST_P(RealGeneratorTest, LossesOfAPassageStayNearInAllPrecisions) {
  if (kChecked) GTEST_SKIP() << "SKIPPED: takes minutes in a checked build; run it in release";
  const auto stored = [&](kernels::Precision precision) {
    return Generator(file_,
                     {.n_threads = 2, .precision = precision, .kv_type = kernels::KvType::kF16});
  };
  Generator generators[] = {Generator(file_, {.n_threads = 2}), stored(kernels::Precision::kInt8),
                            stored(kernels::Precision::kInt16)};
  std::unique_ptr<Sequence> sequences[3];
  for (std::size_t g = 0; g < 3; ++g) sequences[g] = generators[g].store->New();
  const Ids ids = golden_->Ints("passage.ids");
  const std::size_t vocab = generators[0].model->info().vocab;
  Comparison to_exact[3];
  for (std::size_t begin = 0; begin + 1 < ids.size(); begin += 64) {
    const auto piece = std::span(ids).subspan(begin, std::min<std::size_t>(64, ids.size() - begin));
    std::vector<float> logits[3];
    for (std::size_t g = 0; g < 3; ++g) logits[g] = generators[g].Read(*sequences[g], piece);
    for (std::size_t i = 0; i < piece.size() && begin + i + 1 < ids.size(); ++i) {
      const auto row = [&](std::size_t g) {
        return LogProbabilities(std::span(logits[g]).subspan(i * vocab, vocab));
      };
      const LogProbabilities exact = row(0);
      for (std::size_t g = 0; g < 3; ++g) {
        to_exact[g].Add(exact, row(g), static_cast<std::size_t>(ids[begin + i + 1]));
      }
    }
  }
  const auto& [exact, int8, int16] = to_exact;
  for (const Comparison* one : {&exact, &int8, &int16}) {
    std::cout << "mean loss " << one->nll() << ", divergence " << one->divergence()
              << ", same best token " << one->same() << "\n";
  }
  EXPECT_NEAR(exact.nll(), json_.at("passage").at("mean_nll").to_number<double>(), 1e-4);
  EXPECT_NEAR(int8.nll(), exact.nll(), 0.003 * exact.nll());
  EXPECT_LE(int8.divergence(), 0.004);
  EXPECT_GE(int8.same(), 0.97);
  EXPECT_NEAR(int16.nll(), exact.nll(), 1e-4);
  EXPECT_LE(int16.divergence(), 1e-5);
  EXPECT_GE(int16.same(), 0.997);
}

INSTANTIATE_TEST_SUITE_P(Real, RealGeneratorTest, testing::ValuesIn(kModels),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace lattice::models
