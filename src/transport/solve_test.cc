#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "lattice/transport.h"
#include "numeric/random.h"

namespace lattice::transport {
namespace {

std::vector<float> Cloud(std::size_t n, std::size_t dims, std::uint64_t seed, double offset = 0) {
  Random random(seed);
  std::vector<float> x(n * dims);
  for (float& v : x) v = static_cast<float>(random.Normal() + offset);
  return x;
}

std::vector<double> RandomWeights(std::size_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> w(n);
  for (double& v : w) v = random.Uniform() + 0.05;
  const double sum = std::accumulate(w.begin(), w.end(), 0.0);
  for (double& v : w) v /= sum;
  return w;
}

// The plan, written out from the potentials in f64.
std::vector<double> PlanOf(const std::vector<double>& cost, const std::vector<double>& a,
                           const std::vector<double>& b, const Transport& t) {
  std::vector<double> plan(cost.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      plan[i * b.size() + j] =
          a[i] * b[j] * std::exp((t.source[i] + t.target[j] - cost[i * b.size() + j]) / t.epsilon);
    }
  }
  return plan;
}

std::vector<double> SquaredDistances(const std::vector<float>& x, const std::vector<float>& y,
                                     std::size_t dims) {
  const std::size_t n = x.size() / dims, m = y.size() / dims;
  std::vector<double> cost(n * m);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      for (std::size_t t = 0; t < dims; ++t) {
        const double d = static_cast<double>(x[i * dims + t]) - y[j * dims + t];
        cost[i * m + j] += d * d;
      }
    }
  }
  return cost;
}

struct Marginals {
  std::vector<double> rows, columns;
};
Marginals MarginalsOf(const std::vector<double>& plan, std::size_t n, std::size_t m) {
  Marginals out{std::vector<double>(n), std::vector<double>(m)};
  for (std::size_t i = 0; i < n * m; ++i) {
    out.rows[i / m] += plan[i];
    out.columns[i % m] += plan[i];
  }
  return out;
}

double Off(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += std::fabs(x[i] - y[i]);
  return sum;
}

TEST(SolveTest, MarginalsAndCostAreThoseOfThePlan) {
  constexpr std::size_t kDims = 7, kN = 45, kM = 70;
  const auto x = Cloud(kN, kDims, 1), y = Cloud(kM, kDims, 2, 0.5);
  const auto a = RandomWeights(kN, 3), b = RandomWeights(kM, 4);
  SinkhornOptions options;
  options.tolerance = 1e-5;
  const auto t =
      Solve(Cost::Between({x, kDims}, {y, kDims}, Ground::kSquaredEuclidean), a, b, options);
  ASSERT_TRUE(t.has_value()) << t.error().message;
  EXPECT_TRUE(t->converged);
  const auto cost = SquaredDistances(x, y, kDims);
  const auto plan = PlanOf(cost, a, b, *t);
  const Marginals m = MarginalsOf(plan, kN, kM);
  EXPECT_LT(Off(m.rows, a) + Off(m.columns, b), 2.5e-5);
  double total = 0, entropy = 0;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    total += plan[i] * cost[i];
    entropy += plan[i] * std::log(plan[i] / (a[i / kM] * b[i % kM]));
  }
  EXPECT_NEAR(t->cost, total, 1e-4 * total);
  EXPECT_NEAR(t->value, total + t->epsilon * entropy, 1e-4 * total);
  EXPECT_NEAR(t->mass, 1, 2e-5);
}

TEST(SolveTest, StoredAndStreamedCostsThreadsAndInstructionSetsGiveTheSameBits) {
  constexpr std::size_t kDims = 33, kN = 150, kM = 97;
  const auto x = Cloud(kN, kDims, 1), y = Cloud(kM, kDims, 2, 0.3);
  const Cost cost = Cost::Between({x, kDims}, {y, kDims}, Ground::kSquaredEuclidean);
  const auto want = Solve(cost, {}, {}, {}, {.n_threads = 1});
  ASSERT_TRUE(want.has_value());
  for (const std::size_t n_threads : {2u, 3u}) {
    const auto got = Solve(cost, {}, {}, {}, {.n_threads = n_threads});
    EXPECT_EQ(got->target, want->target);
    EXPECT_EQ(got->cost, want->cost);
  }
  const auto scalar = Solve(cost, {}, {}, {}, {.n_threads = 1, .instruction_set = "scalar"});
  EXPECT_EQ(scalar->target, want->target);
  EXPECT_EQ(scalar->value, want->value);
  // Tiles of other sizes add columns in another order: equal but for rounding.
  const auto streamed = Solve(cost, {}, {}, {}, {.n_threads = 2, .matrix_budget_bytes = 0});
  EXPECT_EQ(streamed->iterations, want->iterations);
  EXPECT_NEAR(streamed->cost, want->cost, 1e-6 * want->cost);
}

TEST(SolveTest, SmallEpsilonApproachesTheExactValue) {
  constexpr std::size_t kDims = 3, kN = 40, kM = 50;
  const auto x = Cloud(kN, kDims, 5), y = Cloud(kM, kDims, 6, 1);
  const auto a = RandomWeights(kN, 7), b = RandomWeights(kM, 8);
  const Cost cost = Cost::Between({x, kDims}, {y, kDims}, Ground::kSquaredEuclidean);
  const auto exact = SolveExact(cost, a, b);
  ASSERT_TRUE(exact.has_value()) << exact.error().message;
  SinkhornOptions options;
  options.epsilon = 0.01;
  options.tolerance = 1e-4;
  options.max_iterations = 20000;
  const auto t = Solve(cost, a, b, options);
  ASSERT_TRUE(t.has_value());
  EXPECT_TRUE(t->converged);
  EXPECT_NEAR(t->cost, exact->cost, 0.01 * exact->cost);
  EXPECT_GE(t->cost, exact->cost * (1 - 1e-3));
}

TEST(SolveTest, WarmStartNeedsFewIterations) {
  constexpr std::size_t kDims = 8, kN = 200;
  const auto x = Cloud(kN, kDims, 1), y = Cloud(kN, kDims, 2, 0.5);
  const Cost cost = Cost::Between({x, kDims}, {y, kDims}, Ground::kSquaredEuclidean);
  const auto cold = Solve(cost, {}, {});
  ASSERT_TRUE(cold->converged);
  SinkhornOptions options;
  options.epsilon = cold->epsilon;
  const auto warm = Solve(cost, {}, {}, options, {}, cold->target);
  EXPECT_LE(warm->iterations, 2u);
  EXPECT_TRUE(warm->converged);
}

TEST(SolveTest, ZeroWeightsAreAsIfThePointsWereNotThere) {
  constexpr std::size_t kDims = 4, kN = 30, kM = 35;
  const auto x = Cloud(kN, kDims, 1), y = Cloud(kM, kDims, 2);
  std::vector<double> a(kN, 1.0), b(kM, 1.0);
  for (std::size_t i = 20; i < kN; ++i) a[i] = 0;
  for (std::size_t j = 20; j < kM; ++j) b[j] = 0;
  SinkhornOptions options;
  options.epsilon = 0.3;
  options.tolerance = 1e-6;
  const auto all =
      Solve(Cost::Between({x, kDims}, {y, kDims}, Ground::kSquaredEuclidean), a, b, options);
  const std::vector<float> x1(x.begin(), x.begin() + 20 * kDims),
      y1(y.begin(), y.begin() + 20 * kDims);
  const auto some =
      Solve(Cost::Between({x1, kDims}, {y1, kDims}, Ground::kSquaredEuclidean), {}, {}, options);
  ASSERT_TRUE(all.has_value() && some.has_value());
  EXPECT_TRUE(all->converged);
  EXPECT_NEAR(all->cost, some->cost, 1e-4);
  EXPECT_NEAR(all->value, some->value, 1e-4);
  for (const double g : all->target) EXPECT_TRUE(std::isfinite(g));
}

TEST(SolveTest, FarColumnsAreReachedAtTinyEpsilon) {
  // From the first stage on, most exponentials are below f32's smallest number.
  const std::vector<float> x = {0, 1, 2, 3}, y = {100, 101, 102, 103};
  SinkhornOptions options;
  options.epsilon = 0.3;
  options.scaling = 1;
  options.tolerance = 1e-5;
  options.max_iterations = 5000;
  const auto t = Solve(Cost::Between({x, 1}, {y, 1}, Ground::kSquaredEuclidean), {}, {}, options);
  ASSERT_TRUE(t.has_value());
  EXPECT_TRUE(t->converged);
  EXPECT_NEAR(t->cost, 10000, 1);
}

TEST(SolveTest, UnbalancedSatisfiesItsOptimality) {
  constexpr std::size_t kDims = 2, kN = 25, kM = 30;
  const auto x = Cloud(kN, kDims, 1), y = Cloud(kM, kDims, 2, 1);
  std::vector<double> a = RandomWeights(kN, 3), b = RandomWeights(kM, 4);
  for (double& v : b) v *= 1.5;
  SinkhornOptions options;
  options.epsilon = 0.2;
  options.source_rho = 1.0;
  options.target_rho = 2.0;
  options.tolerance = 1e-5;
  const auto t =
      Solve(Cost::Between({x, kDims}, {y, kDims}, Ground::kSquaredEuclidean), a, b, options);
  ASSERT_TRUE(t.has_value());
  EXPECT_TRUE(t->converged);
  const auto plan = PlanOf(SquaredDistances(x, y, kDims), a, b, *t);
  const Marginals m = MarginalsOf(plan, kN, kM);
  // log(row / a) = -f / rho at the optimum.
  for (std::size_t i = 0; i < kN; ++i) {
    EXPECT_NEAR(std::log(m.rows[i] / a[i]), -t->source[i] / options.source_rho, 1e-4);
  }
  for (std::size_t j = 0; j < kM; ++j) {
    EXPECT_NEAR(std::log(m.columns[j] / b[j]), -t->target[j] / options.target_rho, 1e-4);
  }
  const auto kl = [](const std::vector<double>& p, const std::vector<double>& q) {
    double sum = 0;
    for (std::size_t i = 0; i < p.size(); ++i) sum += p[i] * std::log(p[i] / q[i]) - p[i] + q[i];
    return sum;
  };
  std::vector<double> product(plan.size());
  for (std::size_t i = 0; i < plan.size(); ++i) product[i] = a[i / kM] * b[i % kM];
  const double primal = t->cost + options.epsilon * kl(plan, product) +
                        options.source_rho * kl(m.rows, a) + options.target_rho * kl(m.columns, b);
  EXPECT_NEAR(t->value, primal, 1e-4 * primal);
}

// The cost of sending a share exactly: what stays goes to a point that costs nothing, and nothing
// goes between such points.
double ExactPartialCost(const std::vector<double>& costs, std::vector<double> a,
                        std::vector<double> b, double share) {
  const std::size_t n = a.size() + 1, m = b.size() + 1;
  std::vector<float> wide(n * m, 0.0f);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    wide[i / (m - 1) * m + i % (m - 1)] = static_cast<float>(costs[i]);
  }
  wide.back() = 1000;
  a.push_back(1 - share);
  b.push_back(1 - share);
  const auto exact = SolveExact(Cost::Matrix(wide, n, m), a, b);
  EXPECT_TRUE(exact.has_value());
  return exact->cost * (2 - share);  // The solver scales the weights' sum, 2 - share, to 1.
}

TEST(SolveTest, PartialSendsItsShareWhereThatCostsLeast) {
  constexpr std::size_t kDims = 2, kN = 25, kM = 30;
  const auto x = Cloud(kN, kDims, 1), y = Cloud(kM, kDims, 2, 1);
  const std::vector<double> a = RandomWeights(kN, 3);
  std::vector<double> b = RandomWeights(kM, 4);
  b[8] += b[7];
  b[7] = 0;
  const auto costs = SquaredDistances(x, y, kDims);
  const auto between = Cost::Between({x, kDims}, {y, kDims}, Ground::kSquaredEuclidean);
  for (const double share : {0.05, 0.3, 0.8, 0.97, 0.99, 0.999}) {
    SinkhornOptions options{.epsilon = 0.05, .tolerance = 1e-6, .max_iterations = 1000};
    options.share = share;
    const auto t = Solve(between, a, b, options);
    ASSERT_TRUE(t.has_value());
    EXPECT_TRUE(t->converged) << share;
    EXPECT_NEAR(t->mass, share, 2e-5);
    const auto plan = PlanOf(costs, a, b, *t);
    const Marginals m = MarginalsOf(plan, kN, kM);
    // The conditions of the optimum: a price is paid only where a weight is used up.
    const double bound = std::ranges::max(t->target);
    for (std::size_t i = 0; i < kN; ++i) {
      EXPECT_LE(t->source[i], 0);
      EXPECT_LE(m.rows[i], a[i] + 2e-5);
      if (t->source[i] < -1e-3) {
        EXPECT_NEAR(m.rows[i], a[i], 2e-5);
      }
    }
    for (std::size_t j = 0; j < kM; ++j) {
      EXPECT_LE(m.columns[j], b[j] + 2e-5);
      if (b[j] > 0 && t->target[j] < bound - 1e-3) {
        EXPECT_NEAR(m.columns[j], b[j], 2e-5);
      }
    }
    double kl = 1, cost = 0;  // KL counts the masses of both.
    for (std::size_t i = 0; i < plan.size(); ++i) {
      cost += plan[i] * costs[i];
      if (plan[i] > 0) kl += plan[i] * std::log(plan[i] / (a[i / kM] * b[i % kM])) - plan[i];
    }
    EXPECT_NEAR(t->cost, cost, 1e-4 * cost);
    EXPECT_NEAR(t->value, cost + options.epsilon * kl, 1e-4 * (cost + 1));
    // No plan of this share costs less, but for what the weights are missed by. What the entropy
    // may add: sum of p log(p / ab) is between share log(share) and share log(1 / least weight).
    const double exact = ExactPartialCost(costs, a, b, share);
    EXPECT_GE(t->cost, exact - 2e-5 * (bound - std::ranges::min(t->source)));
    EXPECT_LE(t->cost, exact + options.epsilon * share * (6 - std::log(share))) << share;
  }
}

// Far targets receive less than f32 can tell, and are not waited for.
TEST(SolveTest, PartialLeavesFarPointsAlone) {
  const std::vector<float> x = {0, 1, 2, 3}, y = {0, 1, 200, 201};
  SinkhornOptions options{.epsilon = 0.1, .tolerance = 1e-5, .max_iterations = 5000, .share = 0.4};
  for (const double scaling : {0.25, 1.0}) {
    options.scaling = scaling;
    const auto t = Solve(Cost::Between({x, 1}, {y, 1}, Ground::kSquaredEuclidean), {}, {}, options);
    ASSERT_TRUE(t.has_value());
    EXPECT_TRUE(t->converged) << scaling;
    EXPECT_NEAR(t->mass, 0.4, 1e-4);
    EXPECT_LT(t->cost, 0.05);
  }
}

TEST(SolveTest, UnbalancedLeavesFarPointsAlone) {
  const std::vector<float> x = {0, 1, 2, 3}, y = {0, 1, 200, 201};
  const SinkhornOptions options{
      .epsilon = 0.1, .tolerance = 1e-5, .max_iterations = 5000, .source_rho = 1, .target_rho = 1};
  const auto t = Solve(Cost::Between({x, 1}, {y, 1}, Ground::kSquaredEuclidean), {}, {}, options);
  ASSERT_TRUE(t.has_value());
  EXPECT_TRUE(t->converged);
  EXPECT_LT(t->mass, 0.9);
}

TEST(SolveTest, ThePlanIsExtracted) {
  constexpr std::size_t kN = 30;
  std::vector<float> x(kN), y(kN);
  for (std::size_t i = 0; i < kN; ++i) {
    x[i] = static_cast<float>(i);
    y[kN - 1 - i] = static_cast<float>(i) + 0.1f;  // The same points, reversed and moved.
  }
  const Cost cost = Cost::Between({x, 1}, {y, 1}, Ground::kSquaredEuclidean);
  SinkhornOptions options;
  options.epsilon = 0.1;
  options.max_iterations = 10000;
  const auto t = Solve(cost, {}, {}, options);
  ASSERT_TRUE(t->converged);
  const auto plan = ExtractPlan(cost, {}, {}, *t, 5e-3, 2);
  ASSERT_TRUE(plan.has_value());
  ASSERT_EQ(plan->size(), kN);
  for (std::size_t i = 0; i < kN; ++i) {
    EXPECT_EQ((*plan)[i].source, i);
    EXPECT_EQ((*plan)[i].target, kN - 1 - i);
    EXPECT_NEAR((*plan)[i].mass, 1.0 / kN, 2e-3);
  }
}

TEST(SolveTest, MatrixFunctionAndPointsAgree) {
  constexpr std::size_t kDims = 5, kN = 40, kM = 33;
  const auto x = Cloud(kN, kDims, 1), y = Cloud(kM, kDims, 2);
  const auto distances = SquaredDistances(x, y, kDims);
  const std::vector<float> matrix(distances.begin(), distances.end());
  const auto points = Solve(Cost::Between({x, kDims}, {y, kDims}, Ground::kSquaredEuclidean), {},
                            {}, {.epsilon = 0.5, .tolerance = 1e-6});
  for (const std::size_t budget : {std::size_t{0}, std::size_t{1} << 20}) {
    const auto dense = Solve(Cost::Matrix(matrix, kN, kM), {}, {},
                             {.epsilon = 0.5, .tolerance = 1e-6}, {.matrix_budget_bytes = budget});
    const auto called = Solve(
        Cost::Function([&](std::size_t i, std::size_t j) { return matrix[i * kM + j]; }, kN, kM),
        {}, {}, {.epsilon = 0.5, .tolerance = 1e-6}, {.matrix_budget_bytes = budget});
    EXPECT_NEAR(dense->value, points->value, 1e-4);
    EXPECT_NEAR(called->value, dense->value, 1e-6);
  }
}

TEST(SolveTest, CosineCostsAreOneLessTheCosineAndOneOfZero) {
  constexpr std::size_t kDims = 5, kN = 40, kM = 33;
  auto x = Cloud(kN, kDims, 1);
  const auto y = Cloud(kM, kDims, 2, 0.5);
  std::fill_n(x.begin() + 3 * kDims, kDims, 0.0f);
  const auto dot = [](const float* a, const float* b) {
    double sum = 0;
    for (std::size_t t = 0; t < kDims; ++t) sum += static_cast<double>(a[t]) * b[t];
    return sum;
  };
  std::vector<float> costs(kN * kM, 1.0f);
  for (std::size_t i = 0; i < kN; ++i) {
    const float* const a = &x[i * kDims];
    for (std::size_t j = 0; i != 3 && j < kM; ++j) {
      const float* const b = &y[j * kDims];
      costs[i * kM + j] = static_cast<float>(1 - dot(a, b) / std::sqrt(dot(a, a) * dot(b, b)));
    }
  }
  const SinkhornOptions options{.epsilon = 0.1, .tolerance = 1e-6};
  const auto want = Solve(Cost::Matrix(costs, kN, kM), {}, {}, options);
  for (const std::size_t budget : {std::size_t{0}, std::size_t{1} << 20}) {
    const auto got = Solve(Cost::Between({x, kDims}, {y, kDims}, Ground::kCosine), {}, {}, options,
                           {.matrix_budget_bytes = budget});
    ASSERT_TRUE(want && got);
    EXPECT_NEAR(got->value, want->value, 1e-5);
    EXPECT_NEAR(got->cost, want->cost, 1e-5);
    for (std::size_t j = 0; j < kM; ++j) EXPECT_NEAR(got->target[j], want->target[j], 1e-4);
  }
}

TEST(SolveTest, ProgressIsToldAndMayEndTheWork) {
  const auto x = Cloud(50, 4, 1), y = Cloud(60, 4, 2, 1);
  const Cost cost = Cost::Between({x, 4}, {y, 4}, Ground::kSquaredEuclidean);
  std::vector<Progress> seen;
  SinkhornOptions options{.epsilon = 0.05, .tolerance = 1e-7};
  options.progress = [&](const Progress& p) { seen.push_back(p); };
  const auto whole = Solve(cost, {}, {}, options);
  ASSERT_TRUE(whole);
  ASSERT_EQ(seen.size(), whole->iterations);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i].iteration, i + 1);
    if (i > 0) {
      EXPECT_LE(seen[i].epsilon, seen[i - 1].epsilon);
    }
  }
  EXPECT_EQ(seen.back().epsilon, options.epsilon);
  EXPECT_LT(seen.back().marginal_error, seen.front().marginal_error);
  std::stop_source stop;
  options.progress = [&](const Progress& p) {
    if (p.iteration == 7) stop.request_stop();
    EXPECT_LE(p.iteration, 8u);
  };
  const auto cut = Solve(cost, {}, {}, options, {.stop = stop.get_token()});
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, ErrorCode::kCancelled);
}

TEST(SolveTest, WhatIsWrongIsRefused) {
  const std::vector<float> x = {0, 1, 2}, bad = {0, NAN, 2};
  const auto cost = Cost::Between({x, 1}, {x, 1}, Ground::kSquaredEuclidean);
  const auto code = [](const auto& result) { return result.error().code; };
  EXPECT_EQ(code(Solve(Cost::Between({bad, 1}, {x, 1}, Ground::kCosine), {}, {})),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(Solve(cost, std::vector<double>{1, -1, 1}, {})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(Solve(cost, std::vector<double>{0, 0, 0}, {})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(Solve(cost, std::vector<double>{1, 1}, {})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(Solve(Cost::Between({{}, 1}, {x, 1}, Ground::kCosine), {}, {})),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(Solve(Cost::Between({x, 1}, {x, 3}, Ground::kCosine), {}, {})),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(Solve(cost, {}, {}, {.epsilon = -1})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(Solve(Cost::Matrix(x, 2, 2), {}, {})), ErrorCode::kInvalidArgument);
  for (const double share : {-0.5, 0.0, 1.5, std::nan("")}) {
    EXPECT_EQ(code(Solve(cost, {}, {}, {.share = share})), ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(code(Solve(cost, {}, {}, {.target_rho = 1, .share = 0.5})),
            ErrorCode::kInvalidArgument);
  const SinkhornOptions partial{.share = 0.5};
  const Points points{x, 1};
  EXPECT_EQ(code(SinkhornDivergence(points, points, Ground::kSquaredEuclidean, partial)),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(SolveGromov(points, points, partial)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(FixedSupportBarycentre(std::vector{cost}, std::vector<std::vector<double>>(1), {},
                                        partial)),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(FreeSupportBarycentre(std::vector{points}, {}, x, 1, partial)),
            ErrorCode::kInvalidArgument);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(code(Solve(cost, {}, {}, {}, {.stop = stop.get_token()})), ErrorCode::kCancelled);
  const auto nan = Cost::Function([](std::size_t, std::size_t) { return NAN; }, 3, 3);
  EXPECT_EQ(code(Solve(nan, {}, {}, {}, {.matrix_budget_bytes = 0})), ErrorCode::kInvalidArgument);
}

TEST(SolveTest, AllPointsTheSameCostNothing) {
  const std::vector<float> x(12, 3.0f);
  const auto t = Solve(Cost::Between({x, 3}, {x, 3}, Ground::kSquaredEuclidean), {}, {});
  ASSERT_TRUE(t.has_value());
  EXPECT_TRUE(t->converged);
  EXPECT_NEAR(t->cost, 0, 1e-9);
}

TEST(SolveExactTest, AssignmentsAreThoseOfAllPermutations) {
  constexpr std::size_t kN = 6;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const auto x = Cloud(kN, 2, seed), y = Cloud(kN, 2, seed + 100);
    const auto d = SquaredDistances(x, y, 2);
    std::vector<std::size_t> to(kN);
    std::iota(to.begin(), to.end(), std::size_t{0});
    double least = std::numeric_limits<double>::infinity();
    do {
      double sum = 0;
      for (std::size_t i = 0; i < kN; ++i) sum += d[i * kN + to[i]] / kN;
      least = std::min(least, sum);
    } while (std::ranges::next_permutation(to).found);
    const auto exact = SolveExact(Cost::Between({x, 2}, {y, 2}, Ground::kSquaredEuclidean), {}, {});
    ASSERT_TRUE(exact.has_value());
    EXPECT_NEAR(exact->cost, least, 1e-6 * least) << "seed " << seed;
  }
}

TEST(SolveExactTest, PricesProveThatThePlanIsOptimal) {
  constexpr std::size_t kN = 35, kM = 50;
  const auto x = Cloud(kN, 3, 1), y = Cloud(kM, 3, 2);
  const auto a = RandomWeights(kN, 3), b = RandomWeights(kM, 4);
  const auto exact = SolveExact(Cost::Between({x, 3}, {y, 3}, Ground::kSquaredEuclidean), a, b);
  ASSERT_TRUE(exact.has_value());
  const auto d = SquaredDistances(x, y, 3);
  double dual = 0;
  for (std::size_t i = 0; i < kN; ++i) dual += a[i] * exact->source[i];
  for (std::size_t j = 0; j < kM; ++j) dual += b[j] * exact->target[j];
  EXPECT_NEAR(dual, exact->cost, 1e-5);
  for (std::size_t i = 0; i < kN * kM; ++i) {
    EXPECT_LE(exact->source[i / kM] + exact->target[i % kM], d[i] + 1e-4);
  }
  std::vector<double> rows(kN), columns(kM);
  for (const PlanEntry& e : exact->plan) {
    rows[e.source] += e.mass;
    columns[e.target] += e.mass;
  }
  EXPECT_LT(Off(rows, a) + Off(columns, b), 1e-12);
}

TEST(SolveExactTest, TooManyPairsAreRefused) {
  const auto huge = Cost::Function([](std::size_t, std::size_t) { return 0.0f; }, 2000, 2000);
  EXPECT_EQ(SolveExact(huge, {}, {}).error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace lattice::transport
