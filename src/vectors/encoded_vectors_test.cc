#include "lattice/encoded_vectors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "numeric/random.h"
#include "vectors/narrow_dot/narrow_dot.h"

namespace lattice {
namespace {

constexpr VectorEncoding kEncodings[] = {VectorEncoding::kF32,  VectorEncoding::kF16,
                                         VectorEncoding::kBf16, VectorEncoding::kInt8,
                                         VectorEncoding::kInt4, VectorEncoding::kBinary};
constexpr Metric kMetrics[] = {Metric::kCosine, Metric::kDot, Metric::kSquaredEuclidean,
                               Metric::kEuclidean};

std::vector<float> Normal(std::size_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(random.Normal());
  return x;
}

TEST(VectorIdentityTest, TextsAreStable) {
  const VectorIdentity one{VectorEncoding::kInt8, 384, true, Metric::kCosine};
  EXPECT_EQ(one.ToString(), "int8/384/unit/cosine");
  const VectorIdentity other{VectorEncoding::kF32, 768, false, Metric::kEuclidean};
  EXPECT_EQ(other.ToString(), "f32/768/raw/l2");
  for (const VectorEncoding encoding : kEncodings) {
    for (const Metric metric : kMetrics) {
      for (const bool is_unit : {false, true}) {
        const VectorIdentity identity{encoding, 77, is_unit, metric};
        EXPECT_EQ(*VectorIdentity::Parse(identity.ToString()), identity);
      }
    }
  }
  for (const char* bad :
       {"", "int8", "int8/0/unit/cosine", "int8/384/unit/cosine ", "int8/-1/raw/dot",
        "int8/0384/unit/cosine", "i8/384/unit/cosine", "////"}) {
    EXPECT_FALSE(VectorIdentity::Parse(bad)) << bad;
  }
}

TEST(EncodedVectorsTest, StoredValuesAreClose) {
  constexpr std::size_t kDims = 101;
  const auto values = Normal(kDims, 1);
  const float largest =
      std::fabs(*std::ranges::max_element(values, {}, [](float v) { return std::fabs(v); }));
  const struct {
    VectorEncoding encoding;
    float relative, absolute;
  } errors[] = {{VectorEncoding::kF32, 0, 0},
                {VectorEncoding::kF16, 0x1p-11f, 1e-7f},
                {VectorEncoding::kBf16, 0x1p-8f, 0},
                {VectorEncoding::kInt8, 0, largest / 127 * 0.5001f},
                {VectorEncoding::kInt4, 0, largest / 7 * 0.5001f}};
  for (const auto& [encoding, relative, absolute] : errors) {
    const auto rows = EncodedVectors::Encode({encoding, kDims}, values);
    ASSERT_TRUE(rows);
    const auto stored = rows->Decode(0);
    for (std::size_t i = 0; i < kDims; ++i) {
      EXPECT_NEAR(stored[i], values[i], relative * std::fabs(values[i]) + absolute);
    }
  }
}

// What a score is, in f64, from stored values.
double Reference(Metric metric, std::span<const float> a, std::span<const float> b, bool binary) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += double{a[i]} * b[i];
    aa += double{a[i]} * a[i];
    bb += double{b[i]} * b[i];
  }
  if (metric == Metric::kDot) return ab;
  const double squared = (aa + bb - 2 * ab) / (binary ? 4 : 1);
  if (metric == Metric::kSquaredEuclidean) return squared;
  if (metric == Metric::kEuclidean) return std::sqrt(squared);
  return ab / std::sqrt(aa * bb);
}

TEST(EncodedVectorsTest, ScoresAreThoseOfStoredValuesOnEveryInstructionSet) {
  constexpr std::size_t kDims = 131, kRows = 40;
  const auto values = Normal(kDims * kRows, 1), query = Normal(kDims, 2);
  for (const VectorEncoding encoding : kEncodings) {
    const bool narrow = encoding == VectorEncoding::kInt4 || encoding == VectorEncoding::kBinary;
    for (const Metric metric : kMetrics) {
      const VectorIdentity identity{encoding, kDims, false, metric};
      const auto rows = EncodedVectors::Encode(identity, values);
      const auto own = EncodedVectors::Encode(identity, query);
      ASSERT_TRUE(rows && own);
      const auto found = rows->TopK(query, kRows, 3);
      ASSERT_TRUE(found);
      ASSERT_EQ(found->size(), kRows);
      const std::vector<float> q = narrow ? own->Decode(0) : query;
      for (const Neighbour& one : *found) {
        const double want =
            Reference(metric, q, rows->Decode(one.index), encoding == VectorEncoding::kBinary);
        EXPECT_NEAR(one.score, want, 1e-4 * std::max(1.0, std::fabs(want)));
        const double pair = Reference(metric, own->Decode(0), rows->Decode(one.index),
                                      encoding == VectorEncoding::kBinary);
        EXPECT_NEAR(*own->Score(0, *rows, one.index), pair, 1e-4 * std::max(1.0, std::fabs(pair)));
      }
      EXPECT_TRUE(std::ranges::is_sorted(*found, [&](const Neighbour& a, const Neighbour& b) {
        return metric == Metric::kSquaredEuclidean || metric == Metric::kEuclidean
                   ? a.score < b.score
                   : a.score > b.score;
      }));
      const auto scalar = EncodedVectors::Encode(identity, values, "scalar");
      EXPECT_EQ(*scalar->TopK(query, kRows), *found);
      std::vector<float> scores(2 * kRows);
      const std::vector<EncodedVectors::Query> two = {
          *rows->Prepare(std::span(values).first(kDims)), *rows->Prepare(query)};
      ASSERT_TRUE(rows->Scores(two, scores, 2));
      for (const Neighbour& one : *found) EXPECT_EQ(scores[kRows + one.index], one.score);
      const auto many = rows->TopKMany(two, kRows, 2);
      ASSERT_TRUE(many);
      EXPECT_EQ(many->at(0), *rows->TopK(two[0], kRows));
      EXPECT_EQ(many->at(1), *found);
    }
  }
}

TEST(EncodedVectorsTest, ZeroVectorsAreDefined) {
  const std::vector<float> zero(16), one(16, 1.0f);
  for (const VectorEncoding encoding : kEncodings) {
    if (encoding == VectorEncoding::kBinary) continue;  // Zero counts as positive.
    for (const bool is_unit : {false, true}) {
      const auto rows = EncodedVectors::Encode({encoding, 16, is_unit}, zero);
      ASSERT_TRUE(rows);
      EXPECT_EQ(rows->Decode(0), zero);
      EXPECT_EQ(rows->TopK(one, 1)->at(0).score, 0.0f);
      EXPECT_EQ(rows->TopK(zero, 1)->at(0).score, 0.0f);
    }
  }
}

TEST(EncodedVectorsTest, BadInputsAreErrors) {
  const std::vector<float> two = {1, 2}, huge = {70000, 1};
  std::vector<float> bad = {1, std::numeric_limits<float>::quiet_NaN()};
  for (const VectorEncoding encoding : kEncodings) {
    const VectorIdentity identity{encoding, 2};
    EXPECT_FALSE(EncodedVectors::Encode(identity, bad));
    EXPECT_FALSE(EncodedVectors::Encode({encoding, 2, true}, bad));
    EXPECT_FALSE(EncodedVectors::Encode({encoding, 0}, two));
    EXPECT_FALSE(EncodedVectors::Encode({encoding, 3}, two));
    EXPECT_FALSE(EncodedVectors::Encode({encoding, 65537}, std::vector<float>(65537)));
    EXPECT_EQ(EncodedVectors::Encode(identity, huge).has_value(), encoding != VectorEncoding::kF16);
    const auto rows = EncodedVectors::Encode(identity, two);
    ASSERT_TRUE(rows);
    EXPECT_FALSE(rows->TopK(bad, 1));
    EXPECT_FALSE(rows->TopK(std::vector<float>(3), 1));
    EXPECT_FALSE(rows->Score(0, *rows, 1));
    const auto unit = EncodedVectors::Encode({encoding, 2, true}, two);
    EXPECT_FALSE(rows->Score(0, *unit, 0));
    EXPECT_TRUE(rows->TopK(two, 0)->empty());
    std::vector<float> scores(2);
    const std::vector<EncodedVectors::Query> query = {*rows->Prepare(two)}, other(1);
    EXPECT_FALSE(rows->Scores(query, scores));
    EXPECT_FALSE(rows->Scores(other, std::span(scores).first(1)));
    EXPECT_FALSE(rows->TopKMany(other, 1));
    EXPECT_FALSE(rows->TopK(two, 1, 1025));
    auto halved = query;  // Not as Prepare made it.
    halved[0].values.pop_back();
    EXPECT_FALSE(rows->TopK(halved[0], 1));
    // Of the same dimensions, but other rows.
    for (const VectorEncoding of : kEncodings) {
      for (const bool is_unit : {false, true}) {
        const auto from = EncodedVectors::Encode({of, 2, is_unit}, two);
        EXPECT_EQ(rows->TopK(*from->Prepare(two), 1).has_value(), of == encoding && !is_unit);
      }
    }
    EXPECT_TRUE(rows->TopKMany({}, 1)->empty());
  }
  // As long as the rows, but not the query that they want.
  const auto bits = EncodedVectors::Encode({VectorEncoding::kBinary, 2}, two);
  auto bare = *bits->Prepare(two);
  bare.encoded.clear();
  EXPECT_FALSE(bits->TopK(bare, 1));
  EXPECT_FALSE(EncodedVectors::Encode({VectorEncoding::kInt8, 2}, two, "sse9"));
}

}  // namespace
}  // namespace lattice
