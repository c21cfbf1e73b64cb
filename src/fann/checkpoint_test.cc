#include <gtest/gtest.h>

#include <cmath>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "fann/test_data.h"
#include "lattice/fann_training.h"

namespace lattice::fann {
namespace {

std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

// A run with everything that could depend on the number of workers.
struct Setting {
  std::vector<float> inputs = Values(230 * 40, 1);
  std::vector<std::uint32_t> labels = Labels(230, 6, 2);
  Examples examples{inputs, {}, labels};
  TrainOptions options = {.loss = Loss::kCrossEntropy,
                          .optimiser = Optimiser::kAdamW,
                          .rate = 3e-3,
                          .schedule = {.kind = ScheduleKind::kExponential, .warmup_steps = 5},
                          .weight_decay = 0.01,
                          .clip_norm = 0.5,
                          .n_epochs = 4,
                          .batch_size = 50,
                          .validation_share = 0.2,
                          .early_stopping = {.patience = 10, .watched = Watched::kAccuracy}};
  Network Make() const {
    return NetworkBuilder(40)
        .Layer(150, Activation::kGelu, {.layer_norm = true, .dropout = 0.2f})
        .Layer(90, Activation::kTanh, {.dropout = 0.1f})
        .Layer(6, Activation::kSoftmax)
        .Build(3)
        .value();
  }
};

TEST(TrainerTest, ThreadsAndInstructionSetsGiveTheSameBits) {
  const Setting setting;
  const auto trained = [&](std::size_t n_threads, const std::string& instruction_set) {
    Network network = setting.Make();
    TrainOptions options = setting.options;
    options.n_threads = n_threads;
    options.instruction_set = instruction_set;
    auto trainer = Trainer::Create(network, setting.examples, options);
    if (!trainer) return std::vector<float>();  // Not on this processor.
    EXPECT_TRUE(trainer->Run());
    return network.Parameters();
  };
  const auto expected = trained(1, "");
  EXPECT_EQ(trained(2, ""), expected);
  EXPECT_EQ(trained(5, ""), expected);
  for (const char* const name : {"scalar", "avx2", "avx512", "neon"}) {
    const auto other = trained(1, name);
    if (other.empty()) continue;
    EXPECT_EQ(other, expected) << name;
  }
}

TEST(TrainerTest, AResumedRunHasTheSameBits) {
  const Setting setting;
  Network whole = setting.Make();
  const auto expected = Trainer::Create(whole, setting.examples, setting.options)->Run().value();
  // Stopped after every epoch and, by a thread, anywhere; saved, and resumed in a new trainer.
  Network network = setting.Make();
  std::string checkpoint;
  std::size_t n_stops = 0;
  for (;; ++n_stops) {
    std::stop_source source;
    Network next = setting.Make();
    TrainOptions options = setting.options;
    options.stop = source.get_token();
    std::size_t n_steps = 0;
    options.metric = [&](const Network&) {  // After an epoch: stop in the next one's first step.
      source.request_stop();
      return static_cast<double>(++n_steps);
    };
    auto trainer = Trainer::Create(next, setting.examples, options);
    if (!checkpoint.empty()) {
      const auto resumed = trainer->Resume(Bytes(checkpoint));
      ASSERT_TRUE(resumed) << resumed.error().message;
    }
    const std::jthread stopper([&source, n_stops] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5 * n_stops + 5));
      source.request_stop();
    });
    const auto report = trainer->Run();
    if (report) {
      EXPECT_EQ(report->best_epoch, expected.best_epoch);
      ASSERT_EQ(report->epochs.size(), expected.epochs.size());
      EXPECT_EQ(report->epochs.front().loss, expected.epochs.front().loss);
      EXPECT_EQ(report->epochs.back().validation_loss, expected.epochs.back().validation_loss);
      network = std::move(next);
      break;
    }
    ASSERT_EQ(report.error().code, ErrorCode::kCancelled);
    checkpoint = trainer->Checkpoint();
  }
  EXPECT_GE(n_stops, 3u);
  EXPECT_EQ(network.Parameters(), whole.Parameters());
}

TEST(TrainerTest, DamagedAndForeignCheckpointsAreRefused) {
  const Setting setting;
  Network network = setting.Make();
  auto trainer = Trainer::Create(network, setting.examples, setting.options);
  const std::string checkpoint = trainer->Checkpoint();
  ASSERT_TRUE(trainer->Resume(Bytes(checkpoint)));
  for (std::size_t n = 0; n < checkpoint.size(); n += n < 200 ? 1 : 4001) {
    EXPECT_FALSE(trainer->Resume(Bytes(checkpoint).first(n)));
    std::string damaged = checkpoint;
    damaged[n] = static_cast<char>(damaged[n] ^ 1);
    EXPECT_FALSE(trainer->Resume(Bytes(damaged)));
  }
  TrainOptions options = setting.options;
  options.weight_decay = 0.02;
  const auto other = Trainer::Create(network, setting.examples, options)->Resume(Bytes(checkpoint));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace lattice::fann
