#include "lattice/drift.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "numeric/random.h"
#include "transport/detector_state.h"

namespace lattice::transport {
namespace {

constexpr std::size_t kDims = 8;

std::vector<float> Cloud(std::size_t n, std::uint64_t seed, double offset = 0) {
  Random random(seed);
  std::vector<float> x(n * kDims);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(random.Normal() + (i % kDims == 0 ? offset : 1.0));
  }
  return x;
}

TEST(CompareSetsTest, TellsNoiseFromDrift) {
  const auto a = Cloud(80, 1), same = Cloud(70, 2), moved = Cloud(80, 3, 5.0);
  const DriftOptions options{.n_permutations = 39};
  const auto quiet = CompareSets({a, kDims}, {same, kDims}, options);
  const auto loud = CompareSets({a, kDims}, {moved, kDims}, options);
  ASSERT_TRUE(quiet && loud);
  EXPECT_TRUE(quiet->converged && loud->converged);
  EXPECT_GT(quiet->p_value, 0.05);
  EXPECT_DOUBLE_EQ(loud->p_value, 0.025);
  EXPECT_GT(loud->divergence, 2 * quiet->divergence);
  EXPECT_LT(loud->chance, loud->tested / 2);
  EXPECT_LE(loud->low, loud->divergence);
  EXPECT_GE(loud->high, loud->divergence);
  EXPECT_EQ(loud->sampling_error, 0);
  EXPECT_EQ(loud->matches.size(), 10u);
  EXPECT_GE(loud->matches[0].mass, loud->matches[9].mass);
}

TEST(CompareSetsTest, DisplacementsAddUpToTheDistance) {
  const auto a = Cloud(60, 1), b = Cloud(70, 3, 2.0);
  DriftOptions options;
  options.n_permutations = 0;
  options.sinkhorn.tolerance = 1e-6;
  const auto report = CompareSets({a, kDims}, {b, kDims}, options);
  ASSERT_TRUE(report);
  double sources = 0, targets = 0;
  for (const auto& d : report->source) sources += d.cost / 60;
  for (const auto& d : report->target) targets += d.cost / 70;
  EXPECT_NEAR(sources, report->distance, 1e-5);
  EXPECT_NEAR(targets, report->distance, 1e-5);
}

TEST(CompareSetsTest, FindsTheRecordThatBelongsNowhere) {
  const auto a = Cloud(100, 1);
  auto b = Cloud(100, 2);
  for (std::size_t t = 0; t < kDims; ++t) b[17 * kDims + t] = t == 3 ? -9.0f : 0.0f;
  const auto report = CompareSets({a, kDims}, {b, kDims}, {.n_permutations = 0});
  ASSERT_TRUE(report);
  const auto far = std::ranges::max_element(report->target, {}, &Displacement::cost);
  EXPECT_EQ(far->index, 17u);
  EXPECT_TRUE(far->is_outlier);
  EXPECT_LT(std::ranges::count(report->target, true, &Displacement::is_outlier), 10);
}

// The error from the potentials is the spread of divergences of fresh samples.
TEST(CompareSetsTest, StandardErrorIsTheSpreadOfSamples) {
  constexpr std::size_t kRepeats = 40;
  double mean = 0, squares = 0, stated = 0;
  for (std::size_t k = 0; k < kRepeats; ++k) {
    const auto a = Cloud(100, 100 + k), b = Cloud(100, 200 + k, 3.0);
    DriftOptions options;
    options.n_permutations = 0;
    options.sinkhorn.epsilon = 0.1;
    const auto report = CompareSets({a, kDims}, {b, kDims}, options);
    ASSERT_TRUE(report);
    mean += report->divergence / kRepeats;
    squares += report->divergence * report->divergence / kRepeats;
    stated += report->standard_error / kRepeats;
  }
  const double spread = std::sqrt(squares - mean * mean);
  EXPECT_GT(stated, 0.7 * spread);
  EXPECT_LT(stated, 1.4 * spread);
}

TEST(CompareSetsTest, SamplesStateTheirError) {
  const auto a = Cloud(1200, 1), b = Cloud(1200, 3, 2.0);
  DriftOptions options;
  options.n_permutations = 0;
  const auto all = CompareSets({a, kDims}, {b, kDims}, options);
  options.max_records = 300;
  options.sinkhorn.epsilon = all->epsilon;
  const auto part = CompareSets({a, kDims}, {b, kDims}, options);
  ASSERT_TRUE(all && part);
  EXPECT_EQ(part->n_source, 1200u);
  EXPECT_EQ(part->n_source_used, 300u);
  EXPECT_GT(part->sampling_error, 0);
  EXPECT_LT(part->sampling_error, part->standard_error);
  EXPECT_EQ(all->sampling_bias, 0);
  EXPECT_NEAR(part->divergence - part->sampling_bias, all->divergence, 4 * part->sampling_error);
  EXPECT_GE(part->source.back().index, 300u);
}

TEST(CompareSetsTest, BadSetsAreErrors) {
  const auto a = Cloud(5, 1);
  const std::vector<double> weights(5, 1.0);
  EXPECT_FALSE(CompareSets({a, kDims}, {a, 4}));
  EXPECT_FALSE(CompareSets({a, kDims}, {{}, kDims}));
  EXPECT_FALSE(CompareSets({a, 3}, {a, 3}));
  EXPECT_FALSE(CompareSets({a, kDims, weights}, {a, kDims}));
  EXPECT_FALSE(CompareSets({a, kDims}, {a, kDims}, {.confidence = 1}));
  Machine stopped;
  std::stop_source stop;
  stop.request_stop();
  stopped.stop = stop.get_token();
  EXPECT_EQ(CompareSets({a, kDims}, {a, kDims}, {}, stopped).error().code, ErrorCode::kCancelled);
}

DetectorOptions Small() {
  DetectorOptions options;
  options.window = 32;
  options.n_calibrations = 60;
  options.false_alarms = 0.05;
  return options;
}

TEST(DriftDetectorTest, IsQuietUntilTheStreamMoves) {
  auto detector = DriftDetector::Make({Cloud(400, 1), kDims}, Small());
  ASSERT_TRUE(detector);
  const auto still = Cloud(320, 5), moved = Cloud(320, 6, 2.5);
  std::size_t false_alarms = 0, alarms = 0;
  for (const auto* stream : {&still, &moved}) {
    for (std::size_t i = 0; i < stream->size(); i += kDims) {
      const auto reading = detector->Add(std::span(*stream).subspan(i, kDims));
      ASSERT_TRUE(reading);
      if (!*reading) continue;
      EXPECT_TRUE((*reading)->converged);
      EXPECT_EQ((*reading)->first % 32, 0u);
      if ((*reading)->drifted) ++(stream == &still ? false_alarms : alarms);
    }
  }
  EXPECT_LE(false_alarms, 2u);
  EXPECT_EQ(alarms, 10u);
  EXPECT_EQ(detector->n_records(), 640u);
}

TEST(DriftDetectorTest, RestoredGivesTheSameReadings) {
  auto first = DriftDetector::Make({Cloud(200, 1), kDims}, Small());
  ASSERT_TRUE(first);
  const auto stream = Cloud(100, 5);
  const auto record = [&](std::size_t i) { return std::span(stream).subspan(i * kDims, kDims); };
  for (std::size_t i = 0; i < 40; ++i) ASSERT_TRUE(first->Add(record(i)));
  auto second = DriftDetector::Restore(first->Save());
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->Save(), first->Save());
  for (std::size_t i = 40; i < 64; ++i) {
    const auto one = first->Add(record(i)), other = second->Add(record(i));
    ASSERT_TRUE(one && other);
    ASSERT_EQ(one->has_value(), i == 63);
    if (i == 63) {
      EXPECT_EQ((*one)->divergence, (*other)->divergence);
    }
  }
  EXPECT_EQ(second->threshold(), first->threshold());
}

TEST(DriftDetectorTest, OtherBytesAreErrors) {
  const auto detector = DriftDetector::Make({Cloud(128, 1), kDims}, Small());
  ASSERT_TRUE(detector);
  const std::vector<std::byte> good = detector->Save();
  for (std::size_t n = 0; n < good.size(); n += n < 200 ? 1 : 997) {
    EXPECT_FALSE(DriftDetector::Restore(std::span(good).first(n))) << n;
  }
  for (std::size_t at = 0; at < good.size(); at += at < 200 ? 1 : 997) {
    auto bad = good;
    bad[at] ^= std::byte{0x41};
    EXPECT_FALSE(DriftDetector::Restore(bad)) << at;
  }
  auto longer = good;
  longer.push_back({});
  EXPECT_FALSE(DriftDetector::Restore(longer));
}

TEST(DriftDetectorTest, BadRecordsAndReferencesAreErrors) {
  EXPECT_FALSE(DriftDetector::Make({Cloud(127, 1), kDims}, Small()));
  auto detector = DriftDetector::Make({Cloud(128, 1), kDims}, Small());
  ASSERT_TRUE(detector);
  EXPECT_FALSE(detector->Add(std::vector<float>(kDims - 1)));
  EXPECT_FALSE(detector->Add(std::vector<float>(kDims, NAN)));
  EXPECT_EQ(detector->n_records(), 0u);
}

}  // namespace
}  // namespace lattice::transport
