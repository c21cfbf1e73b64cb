#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "lattice/drift.h"
#include "lattice/transport.h"

// Every function on numbers that f32 and f64 can just hold, on empty sets and on sets that do not
// fit: an error, or a result that is finite.
namespace lattice::transport {
namespace {

const std::vector<std::vector<float>> kOddValues = {
    {3e38f, -3e38f, 3e38f, 1, 2, 3},
    {1e30f, 1, -1e30f, 2, 0, 1e30f},
    {1e-38f, 2e-38f, 0, 0, 1e-45f, 1e-38f},
    {0, 0, 0, 0, 0, 0},
    {1e18f, 1, 2, 1e-18f, 3, 4},
};
const std::vector<float> kPlain = {1, 2, 3, 4, 5, 6};

template <typename T, typename Figure>
void ExpectFiniteOrError(const char* what, const Result<T>& result, Figure figure) {
  if (result) {
    EXPECT_TRUE(std::isfinite(figure(*result))) << what;
  } else {
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument) << result.error().message;
  }
}

TEST(HostileTest, OddValuesGiveAFiniteResultOrAnError) {
  const SinkhornOptions options{.max_iterations = 50};
  const Machine machine{.n_threads = 1};
  const auto itself = [](double x) { return x; };
  const auto value = [](const auto& result) { return result.value; };
  for (const auto& odd : kOddValues) {
    SCOPED_TRACE(odd[0]);
    for (const bool both : {false, true}) {
      const Points x{odd, 2}, y{both ? std::span<const float>(odd) : kPlain, 2};
      for (const Ground ground : {Ground::kSquaredEuclidean, Ground::kCosine}) {
        const Cost cost = Cost::Between(x, y, ground);
        ExpectFiniteOrError("Solve", Solve(cost, {}, {}, options, machine), value);
        ExpectFiniteOrError("SolveExact", SolveExact(cost, {}, {}, machine),
                            [](const auto& r) { return r.cost; });
        ExpectFiniteOrError("SinkhornDivergence",
                            SinkhornDivergence(x, y, ground, options, machine), value);
        const DriftOptions drift{.ground = ground, .sinkhorn = options, .n_permutations = 9};
        ExpectFiniteOrError("CompareSets", CompareSets(x, y, drift, machine), [](const auto& r) {
          return r.divergence + r.distance + r.standard_error + r.low + r.high;
        });
      }
      ExpectFiniteOrError("LineTransport", LineTransport(odd, y.values, 2), itself);
      ExpectFiniteOrError("LineTransport", LineTransport(odd, y.values, 300), itself);
      ExpectFiniteOrError("GaussianTransport", GaussianTransport(x, y, machine), itself);
      ExpectFiniteOrError("SolveSliced", SolveSliced(x, y, 8, 1, machine), value);
      ExpectFiniteOrError("SolveGromov", SolveGromov(x, y, options, machine), value);
      const std::vector<Points> sets = {x, y};
      ExpectFiniteOrError("FreeSupportBarycentre",
                          FreeSupportBarycentre(sets, {}, kPlain, 3, options, machine),
                          [](const Barycentre& mean) {
                            double sum = 0;
                            for (const float p : mean.points) sum += static_cast<double>(p);
                            return sum;
                          });
    }
  }
}

TEST(HostileTest, SetsThatDoNotFitAreErrors) {
  const std::vector<float> five(5, 1.0f), nan = {1, NAN, 3, 4};
  const std::vector<double> negative = {1, -1, 1}, infinite = {1, INFINITY, 1}, two = {1, 1};
  const Points good{kPlain, 2};
  const auto refused = [](const auto& result) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument) << result.error().message;
  };
  for (const Points& bad :
       {Points{five, 2}, Points{nan, 2}, Points{{}, 2}, Points{kPlain, 0},
        Points{kPlain, 2, negative}, Points{kPlain, 2, infinite}, Points{kPlain, 2, two}}) {
    refused(GaussianTransport(bad, good));
    refused(GaussianTransport(good, bad));
    refused(SolveSliced(bad, good, 4, 1));
    refused(SolveSliced(good, bad, 4, 1));
    refused(SolveGromov(bad, good));
    refused(SolveGromov(good, bad));
    refused(SinkhornDivergence(bad, good, Ground::kCosine));
    refused(SinkhornDivergence(good, bad, Ground::kSquaredEuclidean));
    refused(SolveSelf(bad, Ground::kCosine, {}));
    const std::vector<Points> sets = {good, bad};
    refused(FreeSupportBarycentre(sets, {}, kPlain, 2));
    refused(DriftDetector::Make(bad));
  }
  const Points wide{kPlain, 3};
  refused(GaussianTransport(good, wide));
  refused(SolveSliced(good, wide, 4, 1));
  refused(SolveSliced(good, good, 0, 1));
  refused(LineTransport({}, kPlain));
  refused(LineTransport(nan, kPlain));
  refused(LineTransport(kPlain, kPlain, INFINITY));
  refused(FreeSupportBarycentre({}, {}, kPlain, 2));
  refused(FreeSupportBarycentre(std::vector{good}, {}, five, 2));
  refused(FixedSupportBarycentre({}, {}, {}, {}));
}

// What belongs to another problem, or was changed on the way.
TEST(HostileTest, SolutionsOfOtherProblemsAreErrors) {
  const std::vector<float> other = {1, 2};
  const Points x{kPlain, 2}, y{other, 2};
  const Cost cost = Cost::Between(x, x, Ground::kSquaredEuclidean);
  const auto small = Solve(Cost::Between(y, y, Ground::kSquaredEuclidean), {}, {});
  ASSERT_TRUE(small);
  EXPECT_FALSE(ExtractPlan(cost, {}, {}, *small, 0, 3));
  EXPECT_FALSE(ExtractPlan(cost, {}, {}, {}, 0, 3));
  const auto divergence = SinkhornDivergence(y, y, Ground::kSquaredEuclidean);
  ASSERT_TRUE(divergence);
  EXPECT_FALSE(DivergenceGradient(x, x, *divergence));
  EXPECT_FALSE(DivergenceGradient(x, x, {}));
  for (const std::vector<double>& start :
       {std::vector<double>{1, 2}, std::vector<double>{1, NAN, 2},
        std::vector<double>{1, INFINITY, 2}}) {
    EXPECT_FALSE(Solve(cost, {}, {}, {}, {}, start));
  }
  auto changed = *Solve(cost, {}, {});
  changed.target[1] = std::numeric_limits<double>::quiet_NaN();
  if (const auto plan = ExtractPlan(cost, {}, {}, changed, 0, 3)) {
    for (const PlanEntry& entry : *plan) EXPECT_TRUE(std::isfinite(entry.mass));
  }
}

}  // namespace
}  // namespace lattice::transport
