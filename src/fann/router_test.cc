#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "fann/test_data.h"
#include "lattice/fann_training.h"

namespace lattice::fann {
namespace {

Network Gate() {
  return NetworkBuilder(3)
      .Layer(8, Activation::kTanh)
      .Layer(4, Activation::kLinear)
      .Build(2)
      .value();
}

std::vector<double> Choices(const Network& gate, std::span<const float> context) {
  std::vector<float> logits(4);
  EXPECT_TRUE(Runner::Create(gate)->Run(context, logits));
  std::vector<double> p;
  double sum = 0;
  for (const float z : logits) sum += p.emplace_back(std::exp(static_cast<double>(z)));
  for (double& x : p) x /= sum;
  return p;
}

// The step is -rate times the gradient of the losses that the header names.
TEST(RouterTest, AStepFollowsTheGradient) {
  const std::vector<float> context = {0.3f, -1.0f, 0.7f};
  constexpr std::size_t kChoice = 2;
  const double reward = -0.5, balance = 0.4, z = 0.3;
  Network gate = Gate();
  const auto before = gate.Parameters();
  const auto loss = [&](const std::vector<float>& parameters) {
    Network moved = Gate();
    EXPECT_TRUE(moved.SetParameters(parameters));
    std::vector<float> logits(4);
    EXPECT_TRUE(Runner::Create(moved)->Run(context, logits));
    double sum = 0, spread = 0;
    for (const float x : logits) sum += std::exp(static_cast<double>(x));
    for (const float x : logits) {
      const double p = std::exp(static_cast<double>(x)) / sum;
      spread += (p - 0.25) * (p - 0.25) / 4;
    }
    const double log_sum = std::log(sum);
    return -reward * (logits[kChoice] - log_sum) + balance * spread + z * log_sum * log_sum;
  };
  auto trainer = RouterTrainer::Create(gate, {.rate = 1.0f, .balance = 0.4f, .z = 0.3f});
  ASSERT_TRUE(trainer->Feedback(context, kChoice, -0.5f));
  const auto after = gate.Parameters();
  for (std::size_t i = 0; i < before.size(); i += 5) {
    auto up = before, down = before;
    up[i] += 1e-2f;
    down[i] -= 1e-2f;
    EXPECT_NEAR(before[i] - after[i], (loss(up) - loss(down)) / 2e-2, 3e-4) << i;
  }
}

TEST(RouterTest, LearnsWhatItIsTold) {
  const std::vector<float> left = {1, 0, 0}, right = {0, 1, 0};
  Network gate = Gate();
  auto trainer = RouterTrainer::Create(gate, {.rate = 0.05f});
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(trainer->Sample(left, 1, 2, 8));
    ASSERT_TRUE(trainer->Feedback(left, 3, -0.5f));
    ASSERT_TRUE(trainer->Feedback(right, 0, 1.0f));
  }
  EXPECT_GT(Choices(gate, left)[1], 0.6);
  EXPECT_LT(Choices(gate, left)[3], 0.05);
  EXPECT_GT(Choices(gate, right)[0], 0.8);
}

TEST(RouterTest, TheSameSeedDrawsTheSame) {
  const std::vector<float> context = {1, 2, 3};
  const auto trained = [&](std::uint64_t seed) {
    Network gate = Gate();
    auto trainer = RouterTrainer::Create(gate, {.rate = 0.1f, .seed = seed});
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(trainer->Sample(context, 1, 1, 4));
    return gate.Parameters();
  };
  EXPECT_EQ(trained(1), trained(1));
  EXPECT_NE(trained(1), trained(2));
}

TEST(RouterTest, ConsolidationKeepsWhatWasLearned) {
  const std::vector<float> old_context = {1, 0, 0}, new_context = {0.6f, 0.8f, 0};
  const auto forgotten = [&](float strength) {
    Network gate = Gate();
    auto trainer = RouterTrainer::Create(
        gate,
        {.rate = 0.05f, .balance = 0, .z = 0, .ewc_strength = strength, .fisher_decay = 0.99f});
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(trainer->Feedback(old_context, 1, 1.0f));
    trainer->SetAnchor();
    const double before = Choices(gate, old_context)[1];
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(trainer->Feedback(new_context, 2, 1.0f));
    return before - Choices(gate, old_context)[1];
  };
  EXPECT_LT(forgotten(20.0f), 0.5 * forgotten(1e-6f));
}

TEST(RouterTest, MistakesAreTold) {
  Network gate = Gate();
  auto trainer = RouterTrainer::Create(gate, {});
  const std::vector<float> context = {1, 2, 3};
  EXPECT_FALSE(trainer->Feedback(std::span(context).first(2), 0, 1.0f));
  EXPECT_FALSE(trainer->Feedback(context, 4, 1.0f));
  EXPECT_FALSE(trainer->Feedback(context, 0, NAN));
  EXPECT_FALSE(trainer->Feedback(std::vector<float>{1, 2, NAN}, 0, 1.0f));
  EXPECT_FALSE(trainer->Sample(context, 4, 1, 1));
  EXPECT_FALSE(trainer->Sample(context, 0, 0, 1));
  EXPECT_FALSE(trainer->Sample(context, 0, 5, 1));
  EXPECT_FALSE(trainer->Sample(context, 0, 1, 0));
  EXPECT_FALSE(trainer->Sample(context, 0, 1, std::size_t{1} << 40));
  EXPECT_FALSE(RouterTrainer::Create(gate, {.rate = 0}));
  Network soft = NetworkBuilder(2).Layer(2, Activation::kSoftmax).Build(1).value();
  EXPECT_FALSE(RouterTrainer::Create(soft, {}));
}

TEST(FisherTest, FollowsItsDefinition) {
  EXPECT_FALSE(DiagonalFisher::Create(2, 1.0f));
  EXPECT_FALSE(DiagonalFisher::Create(2, 0.0f));
  auto fisher = DiagonalFisher::Create(2, 0.5f);
  std::vector<float> step = {1, 1};
  ASSERT_TRUE(fisher->Protect(step));
  EXPECT_EQ(step, (std::vector<float>{1, 1}));  // Nothing was observed.
  ASSERT_TRUE(fisher->Observe(std::vector<float>{2, 1}));
  ASSERT_TRUE(fisher->Observe(std::vector<float>{2, 1}));
  EXPECT_FLOAT_EQ(fisher->importance()[0], 3.0f);
  EXPECT_FLOAT_EQ(fisher->importance()[1], 0.75f);
  ASSERT_TRUE(fisher->SetAnchor(std::vector<float>{1, 1}));
  std::vector<float> gradient = {0, 1};
  ASSERT_TRUE(fisher->AddPenalty(std::vector<float>{2, -1}, 2.0f, gradient));
  EXPECT_FLOAT_EQ(gradient[0], 6.0f);
  EXPECT_FLOAT_EQ(gradient[1], 1.0f - 3.0f);
  ASSERT_TRUE(fisher->Protect(step));
  EXPECT_EQ(step, (std::vector<float>{0, 0.75f}));
  EXPECT_FALSE(fisher->Observe(std::vector<float>{1}));
}

}  // namespace
}  // namespace lattice::fann