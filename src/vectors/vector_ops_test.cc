#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "lattice/vectors.h"
#include "vectors/dot/dot.h"

namespace lattice {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::uint32_t kSeed = 7;
constexpr Metric kMetrics[] = {Metric::kCosine, Metric::kDot, Metric::kSquaredEuclidean,
                               Metric::kEuclidean};

std::vector<float> Uniform(std::mt19937& rng, std::size_t n) {
  std::uniform_real_distribution<float> unit(-1.0f, 1.0f);
  std::vector<float> x(n);
  for (float& v : x) v = unit(rng);
  return x;
}

double CosineInF64(std::span<const float> a, std::span<const float> b) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += double{a[i]} * b[i];
    aa += double{a[i]} * a[i];
    bb += double{b[i]} * b[i];
  }
  return ab / std::sqrt(aa) / std::sqrt(bb);
}

// Every row of the kernel table that this processor can run.
std::vector<VectorOps> AllOps() {
  std::vector<VectorOps> all;
  for (const auto& row : vectors::DotVariants()) {
    if (auto ops = VectorOps::WithInstructionSet(row.name)) all.push_back(*ops);
  }
  return all;
}

auto PairFunction(Metric metric) {
  switch (metric) {
    case Metric::kCosine:
      return &VectorOps::Cosine;
    case Metric::kDot:
      return &VectorOps::Dot;
    case Metric::kSquaredEuclidean:
      return &VectorOps::SquaredEuclidean;
    case Metric::kEuclidean:
      break;
  }
  return &VectorOps::Euclidean;
}

template <typename T>
void ExpectInvalid(const Result<T>& result, std::string_view message) {
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(result.error().message.find(message), std::string::npos) << result.error().message;
}

TEST(VectorOpsTest, KnownValues) {
  const VectorOps ops;
  const std::vector<float> a = {3, 4}, b = {4, -3}, zero = {0, 0};
  EXPECT_EQ(*ops.Dot(a, a), 25.0f);
  EXPECT_EQ(*ops.SquaredEuclidean(a, b), 50.0f);
  EXPECT_EQ(*ops.Euclidean(a, zero), 5.0f);
  EXPECT_EQ(*ops.Cosine(a, a), 1.0f);
  EXPECT_EQ(*ops.Cosine(a, b), 0.0f);
  EXPECT_EQ(*ops.Cosine(a, zero), 0.0f);
  EXPECT_EQ(*ops.Cosine(zero, zero), 0.0f);
  EXPECT_EQ(*ops.Dot({}, {}), 0.0f);
  EXPECT_EQ(*ops.Cosine({}, {}), 0.0f);
}

TEST(VectorOpsTest, UnknownInstructionSetIsAnError) {
  ExpectInvalid(VectorOps::WithInstructionSet("sse9"), "unknown instruction set 'sse9'");
  EXPECT_EQ(VectorOps::WithInstructionSet("scalar")->instruction_set(), "scalar");
}

TEST(VectorOpsTest, CosineIsCloseToF64) {
  const VectorOps ops;
  std::mt19937 rng(kSeed);
  for (const std::size_t n : {1u, 7u, 64u, 384u, 1000u}) {
    const auto a = Uniform(rng, n);
    const auto b = Uniform(rng, n);
    EXPECT_NEAR(*ops.Cosine(a, b), CosineInF64(a, b), 1e-6) << n;
    EXPECT_EQ(*ops.Cosine(a, a), 1.0f);
  }
}

// Sums of squares leave f32's range long before the vectors do.
TEST(VectorOpsTest, VeryLongAndVeryShortVectors) {
  std::mt19937 rng(kSeed);
  const auto a = Uniform(rng, 100);
  const auto b = Uniform(rng, 100);
  const std::vector<float> zero(100, 0.0f);
  const float length = *VectorOps().Euclidean(a, zero);
  for (const VectorOps& ops : AllOps()) {
    for (const float scale : {1e-36f, 1e-30f, 1e-20f, 1e20f, 1e30f, 3e37f}) {
      std::vector<float> scaled = a;
      for (float& v : scaled) v *= scale;
      const double cosine = CosineInF64(scaled, b);
      EXPECT_NEAR(*ops.Cosine(scaled, b), cosine, 1e-6) << scale;
      EXPECT_NEAR(*ops.Cosine(b, scaled), cosine, 1e-6) << scale;
      EXPECT_NEAR(*ops.Euclidean(scaled, zero) / scale, length, 1e-5) << scale;
      ASSERT_TRUE(ops.Normalise(scaled));
      // Shorter vectors than 1e-12 are divided by 1e-12.
      const float wanted = scale < 1e-12f ? length * (scale / 1e-12f) : 1.0f;
      EXPECT_NEAR(*ops.Euclidean(scaled, zero) / wanted, 1.0f, 1e-5) << scale;
    }
    const std::vector<float> longest(100, 3e38f);
    EXPECT_EQ(*ops.Cosine(longest, longest), 1.0f);
    ExpectInvalid(ops.Euclidean(longest, zero), "too large for f32");
  }
}

TEST(VectorOpsTest, NormaliseGivesUnitLengthAndKeepsZero) {
  std::mt19937 rng(kSeed);
  for (const VectorOps& ops : AllOps()) {
    auto x = Uniform(rng, 384);
    ASSERT_TRUE(ops.Normalise(x));
    EXPECT_NEAR(*ops.Dot(x, x), 1.0f, 1e-6);
    std::vector<float> zero(5, 0.0f);
    ASSERT_TRUE(ops.Normalise(zero));
    EXPECT_EQ(zero, std::vector<float>(5, 0.0f));
    ASSERT_TRUE(ops.Normalise({}));
    std::vector<float> huge(4, 3e38f);
    ASSERT_TRUE(ops.Normalise(huge));
    EXPECT_EQ(huge, std::vector<float>(4, 0.5f));
  }
}

TEST(VectorOpsTest, NonFiniteInputsAreErrorsThatNameTheElement) {
  for (const VectorOps& ops : AllOps()) {
    for (const float bad : {kNan, kInf, -kInf}) {
      const std::vector<float> good(70, 0.0f);
      std::vector<float> x(70, 1.0f);
      x[69] = bad;
      ExpectInvalid(ops.Dot(x, good), "first vector: element 69 is not finite");
      ExpectInvalid(ops.Dot(good, x), "second vector: element 69");
      ExpectInvalid(ops.SquaredEuclidean(x, x), "first vector: element 69");
      ExpectInvalid(ops.Euclidean(good, x), "second vector: element 69");
      ExpectInvalid(ops.Cosine(good, x), "second vector: element 69");
      ExpectInvalid(ops.Cosine(x, good), "first vector: element 69");
      std::vector<float> copy = x;
      ExpectInvalid(ops.Normalise(copy), "element 69");
      EXPECT_EQ(copy[0], 1.0f);
    }
  }
}

TEST(VectorOpsTest, MismatchedLengthsAndOverflowAreErrors) {
  const VectorOps ops;
  const std::vector<float> two(2, 3e38f), three(3);
  ExpectInvalid(ops.Dot(two, three), "vectors of 2 and 3 elements");
  ExpectInvalid(ops.SquaredEuclidean(two, three), "2 and 3");
  ExpectInvalid(ops.Euclidean(two, three), "2 and 3");
  ExpectInvalid(ops.Cosine(two, three), "2 and 3");
  ExpectInvalid(ops.Dot(two, two), "too large for f32");
  std::vector<float> out(2);
  ExpectInvalid(ops.Scores({}, 0, three, Metric::kDot, out), "query has no elements");
  ExpectInvalid(ops.Scores(two, 2, three, Metric::kDot, out), "matrix of 3 elements");
  ExpectInvalid(ops.Scores(two, 3, three, Metric::kDot, out), "queries of 2 elements");
  ExpectInvalid(ops.Scores(three, 3, three, Metric::kDot, out), "1 rows, but room for 2");
  ExpectInvalid(ops.TopK(two, three, 1), "no whole rows of 2");
  ExpectInvalid(ops.TopK({}, {}, 1), "query has no elements");
  ExpectInvalid(ops.TopK(two, two, 1, Metric::kCosine, SIZE_MAX), "at most 1024");
}

TEST(VectorOpsTest, ARowIsAPair) {
  constexpr std::size_t kDims = 100, kRows = 37;
  std::mt19937 rng(kSeed);
  const auto queries = Uniform(rng, 2 * kDims);
  auto matrix = Uniform(rng, kDims * kRows);
  std::fill_n(matrix.begin() + 5 * kDims, kDims, 0.0f);
  for (const VectorOps& ops : AllOps()) {
    std::vector<float> out(2 * kRows);
    const auto row = [&](std::size_t r) { return std::span(matrix).subspan(r * kDims, kDims); };
    for (const std::size_t n_threads : {1u, 3u}) {
      for (const Metric metric : kMetrics) {
        ASSERT_TRUE(ops.Scores(queries, kDims, matrix, metric, out, n_threads));
        for (std::size_t i = 0; i < out.size(); ++i) {
          const auto query = std::span(queries).subspan(i / kRows * kDims, kDims);
          const auto compare = PairFunction(metric);
          EXPECT_EQ(out[i], *(ops.*compare)(query, row(i % kRows))) << i;
          const auto scalar = VectorOps::WithInstructionSet("scalar");
          EXPECT_EQ(out[i], *((*scalar).*compare)(query, row(i % kRows))) << i;
        }
      }
    }
    matrix[7 * kDims] = kNan;
    ExpectInvalid(ops.Scores(queries, kDims, matrix, Metric::kCosine, out), "row 7 holds");
    auto unit = matrix;
    ExpectInvalid(ops.NormaliseRows(unit, kDims), "row 7");
    matrix[7 * kDims] = 0.0f;
    unit = matrix;
    ASSERT_TRUE(ops.NormaliseRows(unit, kDims));
    for (std::size_t r = 0; r < kRows; ++r) {
      std::vector<float> alone(row(r).begin(), row(r).end());
      ASSERT_TRUE(ops.Normalise(alone));
      EXPECT_TRUE(std::ranges::equal(alone, std::span(unit).subspan(r * kDims, kDims))) << r;
    }
  }
}

// All rows by the pair functions, sorted: what TopK must equal.
std::vector<Neighbour> SortedRows(const VectorOps& ops, std::span<const float> query,
                                  std::span<const float> matrix, Metric metric) {
  std::vector<Neighbour> rows;
  for (std::size_t r = 0; r < matrix.size() / query.size(); ++r) {
    const auto row = matrix.subspan(r * query.size(), query.size());
    rows.push_back({r, *(ops.*PairFunction(metric))(query, row)});
  }
  std::ranges::stable_sort(rows, [&](const Neighbour& a, const Neighbour& b) {
    const bool is_distance = metric == Metric::kSquaredEuclidean || metric == Metric::kEuclidean;
    return is_distance ? a.score < b.score : a.score > b.score;
  });
  return rows;
}

TEST(TopKTest, IsTheBeginningOfTheSortedRowsForAnyThreads) {
  constexpr std::size_t kDims = 33, kRows = 5000;
  std::mt19937 rng(kSeed);
  auto matrix = Uniform(rng, kDims * kRows);
  // Ties far apart: blocks of equal rows.
  for (std::size_t r = 0; r < kRows; r += 100) {
    std::copy_n(matrix.begin(), kDims, matrix.begin() + static_cast<std::ptrdiff_t>(r * kDims));
  }
  const std::vector<float> query(matrix.begin(), matrix.begin() + kDims);
  for (const VectorOps& ops : AllOps()) {
    for (const Metric metric : kMetrics) {
      auto expected = SortedRows(ops, query, matrix, metric);
      for (const std::size_t k : {std::size_t{1}, std::size_t{60}, kRows, kRows + 5}) {
        const auto rows = std::span(expected).first(std::min(k, kRows));
        for (const std::size_t n_threads : {1u, 2u, 3u, 7u, 0u}) {
          const auto found = ops.TopK(query, matrix, k, metric, n_threads);
          ASSERT_TRUE(found.has_value()) << found.error().message;
          ASSERT_TRUE(std::ranges::equal(*found, rows)) << k << " of " << n_threads << " threads";
        }
      }
    }
  }
}

TEST(TopKTest, ManyQueriesFindWhatEachFindsAlone) {
  constexpr std::size_t kDims = 33, kRows = 3000, kQueries = 7;
  std::mt19937 rng(kSeed);
  const auto matrix = Uniform(rng, kDims * kRows), queries = Uniform(rng, kDims * kQueries);
  for (const VectorOps& ops : AllOps()) {
    for (const Metric metric : kMetrics) {
      for (const std::size_t n_threads : {1u, 3u}) {
        const auto found = ops.TopKMany(queries, kDims, matrix, 11, metric, n_threads);
        ASSERT_TRUE(found.has_value()) << found.error().message;
        ASSERT_EQ(found->size(), kQueries);
        for (std::size_t q = 0; q < kQueries; ++q) {
          const auto query = std::span(queries).subspan(q * kDims, kDims);
          EXPECT_EQ((*found)[q], *ops.TopK(query, matrix, 11, metric)) << q;
        }
      }
    }
  }
  const VectorOps ops;
  EXPECT_TRUE(ops.TopKMany({}, kDims, matrix, 1)->empty());
  ExpectInvalid(ops.TopKMany(std::span(queries).first(34), kDims, matrix, 1), "queries of 34");
  auto bad = queries;
  bad[kDims + 2] = kNan;
  ExpectInvalid(ops.TopKMany(bad, kDims, matrix, 1), "query 1: element 2");
  // The second query alone is too large for the later of the two rows.
  std::vector<float> two(2 * kDims, 1.0f), rows(200 * kDims, 1.0f);
  two[kDims] = 1e30f;
  rows[90 * kDims] = rows[160 * kDims] = 1e30f;
  ExpectInvalid(ops.TopKMany(two, kDims, rows, 1, Metric::kDot, 3), "row 90 holds");
}

TEST(TopKTest, NothingAskedOrNothingThere) {
  const VectorOps ops;
  const std::vector<float> query(3, 1.0f);
  EXPECT_TRUE(ops.TopK(query, query, 0)->empty());
  EXPECT_TRUE(ops.TopK(query, {}, 5)->empty());
  const auto one = ops.TopK(query, query, 5);
  ASSERT_EQ(one->size(), 1u);
  EXPECT_EQ(one->at(0).index, 0u);
}

TEST(TopKTest, ANonFiniteRowIsAnErrorThatNamesTheFirst) {
  constexpr std::size_t kDims = 64, kRows = 4000;
  const std::vector<float> query(kDims, 1.0f);
  std::vector<float> matrix(kDims * kRows, 1.0f);
  matrix[3999 * kDims] = kNan;
  matrix[1234 * kDims + 5] = kInf;
  for (const VectorOps& ops : AllOps()) {
    for (const Metric metric : kMetrics) {
      for (const std::size_t n_threads : {1u, 3u}) {
        ExpectInvalid(ops.TopK(query, matrix, 10, metric, n_threads), "row 1234 holds");
      }
    }
  }
  ExpectInvalid(VectorOps().TopK(std::vector<float>{kNan}, {}, 1), "query: element 0");
}

}  // namespace
}  // namespace lattice
