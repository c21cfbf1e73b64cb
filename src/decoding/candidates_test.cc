#include "decoding/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "decoding/best_first.h"
#include "decoding/exp_sum.h"
#include "decoding/test_rows.h"

namespace lattice::decoding {
namespace {

using Ids = std::set<TokenId>;

Ids Left(const Candidates& candidates) {
  Ids ids;
  for (const Candidate& candidate : candidates.List()) ids.insert(candidate.id);
  return ids;
}

// The ids of a row, best first, by a full sort.
std::vector<TokenId> Ranked(const std::vector<float>& row) {
  std::vector<TokenId> ids(row.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::ranges::stable_sort(ids, [&](TokenId a, TokenId b) {
    return row[static_cast<std::size_t>(a)] > row[static_cast<std::size_t>(b)];
  });
  return ids;
}

// Filters are tried on the whole row and on a list that holds the same.
class FilterTest : public testing::TestWithParam<bool> {
 protected:
  Candidates Of(const std::vector<float>& row) const {
    Candidates candidates;
    candidates.Assign(row);
    if (GetParam()) candidates.KeepTop(row.size());
    return candidates;
  }
};

TEST_P(FilterTest, TopKKeepsTheBestAndTheLowerOfEquals) {
  Candidates candidates = Of({1, 3, 3, -2, 3, 0});
  candidates.KeepTop(2);
  EXPECT_EQ(Left(candidates), (Ids{1, 2}));
  EXPECT_EQ(candidates.Best().id, 1);
}

TEST_P(FilterTest, TopPKeepsTheFewestThatReachIt) {
  const std::vector<float> row = LogitsOf({0.05, 0.4, 0.15, 0.3, 0.1});
  for (const auto& [p, ids] : std::vector<std::pair<float, Ids>>{{0.1f, {1}},
                                                                 {0.39f, {1}},
                                                                 {0.41f, {1, 3}},
                                                                 {0.69f, {1, 3}},
                                                                 {0.84f, {1, 3, 2}},
                                                                 {0.9499f, {1, 3, 2, 4}},
                                                                 {0.96f, {0, 1, 2, 3, 4}}}) {
    Candidates candidates = Of(row);
    candidates.KeepTopP(p);
    EXPECT_EQ(Left(candidates), ids) << p;
  }
}

TEST_P(FilterTest, MinPIsAShareOfTheBest) {
  Candidates candidates = Of(LogitsOf({0.05, 0.4, 0.15, 0.3, 0.1}));
  candidates.KeepMinP(0.3f);  // 0.12
  EXPECT_EQ(Left(candidates), (Ids{1, 2, 3}));
  candidates.KeepMinP(1.0f);
  EXPECT_EQ(Left(candidates), Ids{1});
}

TEST_P(FilterTest, TopNSigmaMeasuresLogits) {
  // Mean 2, deviation 4: above 10 - 4 stays.
  Candidates candidates = Of({10, 0, 0, 0, 0});
  candidates.KeepTopNSigma(1);
  EXPECT_EQ(Left(candidates), Ids{0});
  candidates = Of({10, 0, 0, 0, 0});
  candidates.KeepTopNSigma(2.6f);  // 10 - 10.4
  EXPECT_EQ(Left(candidates), (Ids{0, 1, 2, 3, 4}));
}

TEST_P(FilterTest, TypicalPrefersTheExpectedSurprise) {
  // Entropy 0.8979 nats; surprises 0.5108, 1.2040, 2.3026: the middle one is nearest, then the
  // best one.
  const std::vector<float> row = LogitsOf({0.6, 0.3, 0.1});
  Candidates candidates = Of(row);
  candidates.KeepTypical(0.29f);
  EXPECT_EQ(Left(candidates), Ids{1});
  candidates = Of(row);
  candidates.KeepTypical(0.5f);
  EXPECT_EQ(Left(candidates), (Ids{0, 1}));
}

TEST_P(FilterTest, ExcludeTopLeavesTheLeastLikelyOfTheLikely) {
  const std::vector<float> row = LogitsOf({0.05, 0.4, 0.15, 0.3, 0.1});
  Candidates candidates = Of(row);
  candidates.ExcludeTop(0.12f);
  EXPECT_EQ(Left(candidates), (Ids{0, 2, 4}));
  candidates = Of(row);
  candidates.ExcludeTop(0.35f);  // Only one is as likely as that: it stays.
  EXPECT_EQ(Left(candidates), (Ids{0, 1, 2, 3, 4}));
  candidates.ExcludeTop(0.0f);
  EXPECT_EQ(Left(candidates), Ids{0});
}

TEST_P(FilterTest, SurpriseIsInBits) {
  Candidates candidates = Of(LogitsOf({0.5, 0.25, 0.125, 0.125}));
  candidates.KeepSurprise(2.01f);
  EXPECT_EQ(Left(candidates), (Ids{0, 1}));
  candidates.KeepSurprise(0.1f);
  EXPECT_EQ(Left(candidates), Ids{0});
}

TEST_P(FilterTest, SmallTemperaturesDoNotOverflow) {
  Candidates candidates = Of({1e30f, 1, -1e30f, 1e30f});
  candidates.DivideBy(1e-20f);
  EXPECT_EQ(candidates.Draw(0.25).id, 0);
  EXPECT_EQ(candidates.Draw(0.75).id, 3);
}

TEST_P(FilterTest, RandomRowsFollowTheDefinitions) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const std::size_t n = 1 + seed * 37;
    const std::vector<float> row = RandomRow(seed, n, seed % 2 == 0 ? 0.5f : 4.0f);
    const std::vector<double> p = Softmax(row);
    const std::vector<TokenId> ranked = Ranked(row);
    Candidates candidates = Of(row);
    const std::size_t k = 1 + seed % n;
    candidates.KeepTop(k);
    EXPECT_EQ(Left(candidates), Ids(ranked.begin(), ranked.begin() + static_cast<long>(k)));

    const double goal = 0.02 * seed + 0.1;
    double sum = 0;
    Ids nucleus;
    for (const TokenId id : ranked) {
      if (sum >= goal) break;
      nucleus.insert(id);
      sum += p[static_cast<std::size_t>(id)];
    }
    candidates = Of(row);
    candidates.KeepTopP(static_cast<float>(goal));
    EXPECT_EQ(Left(candidates), nucleus);

    // Drawing walks through the whole mass: nothing has more or less than its probability.
    candidates = Of(row);
    for (const double u : {0.0, 0.3, 0.999999}) {
      const auto drawn = candidates.Draw(u);
      EXPECT_NEAR(drawn.probability, p[static_cast<std::size_t>(drawn.id)], 1e-6);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(WholeRowAndList, FilterTest, testing::Bool());

TEST(CandidatesTest, MaskedAndRemovedTokensNeverComeBack) {
  Candidates candidates;
  candidates.Assign(std::vector<float>(130, 1.0f));
  std::vector<std::uint64_t> allowed = {std::uint64_t{1} << 5 | 1, 0, 2};
  candidates.KeepAllowed(allowed);
  candidates.Remove(0);
  EXPECT_EQ(Left(candidates), (Ids{5, 129}));
  for (const double u : {0.0, 0.49, 0.51, 0.999}) {
    EXPECT_EQ(candidates.Draw(u).id, u < 0.5 ? 5 : 129);
  }
  candidates.KeepTopP(1.0f);
  EXPECT_EQ(Left(candidates), (Ids{5, 129}));
  candidates.Assign(std::vector<float>(130, 1.0f));
  allowed = {0, 0, 0};
  candidates.KeepAllowed(allowed);
  EXPECT_FALSE(candidates.any());
}

TEST(CandidatesTest, SelectTopEqualsASort) {
  for (const std::size_t n : {1u, 63u, 64u, 65u, 1000u, 5000u}) {
    std::vector<float> row = RandomRow(static_cast<std::uint32_t>(n), n);
    for (std::size_t i = 0; i < n; i += 3) row[i] = std::round(row[i]);  // ties
    const std::vector<TokenId> ranked = Ranked(row);
    for (const std::size_t k : {1u, 5u, 40u, 700u}) {
      std::vector<Candidate> top;
      SelectTop(row, k, top);
      ASSERT_EQ(top.size(), std::min(k, n));
      for (std::size_t i = 0; i < top.size(); ++i) EXPECT_EQ(top[i].id, ranked[i]) << n << " " << k;
    }
  }
}

// Ties, both zeros, steps of one, and the whole range of floats.
std::vector<std::vector<float>> RowsToRank() {
  std::vector<std::vector<float>> rows;
  for (const float deviation : {1e-3f, 0.5f, 3.0f, 40.0f, 1e36f}) {
    rows.push_back(RandomRow(9, 20000, deviation));
    rows.push_back(rows.back());
    for (float& x : rows.back()) x = std::round(x);
  }
  rows.emplace_back(20000, 0.0f);
  for (std::size_t i = 0; i < rows.back().size(); i += 3) rows.back()[i] = -0.0f;
  return rows;
}

TEST(CandidatesTest, LongListsAreSortedAsShortOnes) {
  for (const std::vector<float>& row : RowsToRank()) {
    std::vector<Candidate> list, want, scratch;
    for (std::size_t i = row.size(); i-- > 0;) list.push_back({row[i], static_cast<TokenId>(i)});
    want = list;
    std::ranges::sort(want, IsBetter);
    SortBestFirst(list, scratch);
    for (std::size_t i = 0; i < want.size(); ++i) ASSERT_EQ(list[i].id, want[i].id) << i;
  }
}

TEST(CandidatesTest, TopPOfFlatRowsIsThatOfASort) {
  for (const std::vector<float>& row : RowsToRank()) {
    const float max = MaxOf(row);
    for (const float p : {0.01f, 0.3f, 0.9f, 0.95f, 0.9999f, 0.9999999f, 1.0f}) {
      std::vector<Candidate> want;
      for (std::size_t i = 0; i < row.size(); ++i)
        want.push_back({row[i], static_cast<TokenId>(i)});
      std::ranges::sort(want, IsBetter);
      const double goal = static_cast<double>(p) * SumExp(row, max);
      double sum = 0;
      std::size_t n = 0;
      for (; n < want.size() && (n == 0 || sum < goal); ++n) {
        sum += static_cast<double>(ExpNonPositive(want[n].logit - max));
      }
      want.resize(n);
      Candidates candidates;
      candidates.Assign(row);
      candidates.KeepTopP(p);
      const std::vector<Candidate> left = candidates.List();
      ASSERT_EQ(left.size(), want.size()) << p;
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(left[i].id, want[i].id) << p << " " << i;
    }
  }
}

TEST(CandidatesTest, SelectedMassIsEnoughAndLittleMore) {
  std::vector<float> row = RandomRow(3, 30000, 0.5f);
  row[17] = -INFINITY;
  const float max = MaxOf(row);
  const double total = SumExp(row, max);
  std::vector<Candidate> out;
  for (const double share : {0.1, 0.5, 0.95}) {
    SelectMass(row, max, share * total, out);
    double sum = 0;
    float least = max;
    for (const Candidate& candidate : out) {
      sum += static_cast<double>(ExpNonPositive(candidate.logit - max));
      least = std::min(least, candidate.logit);
    }
    EXPECT_GE(sum, share * total);
    EXPECT_LT(sum, (share + 0.05) * total);
    const auto n_at_least = std::ranges::count_if(row, [&](float x) { return x >= least; });
    EXPECT_EQ(static_cast<std::size_t>(n_at_least), out.size());
  }
  SelectMass(row, max, INFINITY, out);
  EXPECT_EQ(out.size(), row.size() - 1);
}

TEST(CandidatesTest, ExpIsAccurate) {
  for (double x = -86.9; x <= 0; x += 0.0137) {
    const double exact = std::exp(static_cast<double>(static_cast<float>(x)));
    EXPECT_NEAR(static_cast<double>(ExpNonPositive(static_cast<float>(x))) / exact, 1.0, 2e-7) << x;
  }
  EXPECT_EQ(ExpNonPositive(0.0f), 1.0f);
  EXPECT_EQ(ExpNonPositive(-INFINITY), 0.0f);
  EXPECT_EQ(ExpNonPositive(-1e30f), 0.0f);
}

TEST(CandidatesTest, LogitsThatAreNoNumbersAreNamed) {
  for (const std::size_t at : {0u, 64u, 70u, 199u}) {
    std::vector<float> row(200, 0.5f);
    EXPECT_TRUE(CheckFinite(row));
    row[at] = at % 2 == 0 ? NAN : -INFINITY;
    const auto finite = CheckFinite(row);
    ASSERT_FALSE(finite);
    EXPECT_NE(finite.error().message.find("token " + std::to_string(at)), std::string::npos);
  }
}

}  // namespace
}  // namespace lattice::decoding
