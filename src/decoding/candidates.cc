#include "decoding/candidates.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "decoding/best_first.h"
#include "decoding/exp_sum.h"
#include "lattice/check.h"

namespace lattice::decoding {
namespace {

// Inner loops have this fixed length, so that they become vector code.
constexpr std::size_t kBlock = 64;
constexpr std::size_t kLanes = 8;

// What a filter by probability looks at first.
constexpr std::size_t kFew = 64;

bool AnyAbove(const float* block, float threshold) {
  std::uint32_t any = 0;
  for (std::size_t i = 0; i < kBlock; ++i) any |= block[i] > threshold ? 1u : 0u;
  return any != 0;
}

// Calls take(index) for each number of a row above a threshold, which take may raise.
template <typename Take>
void ForEachAbove(std::span<const float> row, const float& threshold, Take take) {
  std::size_t begin = 0;
  for (; begin + kBlock <= row.size(); begin += kBlock) {
    if (!AnyAbove(row.data() + begin, threshold)) continue;
    for (std::size_t i = begin; i < begin + kBlock; ++i) {
      if (row[i] > threshold) take(i);
    }
  }
  for (std::size_t i = begin; i < row.size(); ++i) {
    if (row[i] > threshold) take(i);
  }
}

}  // namespace

void SelectTop(std::span<const float> row, std::size_t k, std::vector<Candidate>& out) {
  out.clear();
  if (k == 0) return;
  k = std::min(k, row.size());
  const std::size_t n_held = std::max(2 * k, k + kBlock);
  float threshold = -std::numeric_limits<float>::infinity();
  // Of equals the first k are the right ones, so later ones need to be strictly better.
  const auto thin = [&] {
    std::nth_element(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(k - 1), out.end(),
                     IsBetter);
    out.resize(k);
    threshold = out.back().logit;
  };
  ForEachAbove(row, threshold, [&](std::size_t i) {
    out.push_back({row[i], static_cast<TokenId>(i)});
    if (out.size() == n_held) thin();
  });
  if (out.size() > k) thin();
  std::ranges::sort(out, IsBetter);
}

float MaxOf(std::span<const float> row) {
  std::array<float, kLanes> max;
  max.fill(-std::numeric_limits<float>::infinity());
  std::size_t begin = 0;
  for (; begin + kLanes <= row.size(); begin += kLanes) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      const float x = row[begin + i];
      max[i] = x > max[i] ? x : max[i];
    }
  }
  for (; begin < row.size(); ++begin) max[0] = std::max(max[0], row[begin]);
  return *std::ranges::max_element(max);
}

double SumExp(std::span<const float> row, float max) {
  std::array<double, kLanes> sums{};
  std::array<float, kBlock> terms;
  std::size_t begin = 0;
  for (; begin + kBlock <= row.size(); begin += kBlock) {
    const float* block = row.data() + begin;
    for (std::size_t i = 0; i < kBlock; ++i) terms[i] = ExpNonPositive(block[i] - max);
    for (std::size_t i = 0; i < kBlock; i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        sums[lane] += static_cast<double>(terms[i + lane]);
      }
    }
  }
  double sum = 0;
  for (; begin < row.size(); ++begin) sum += static_cast<double>(ExpNonPositive(row[begin] - max));
  for (const double lane : sums) sum += lane;
  return sum;
}

Status CheckFinite(std::span<const float> row) {
  constexpr std::uint32_t kExponent = 0x7F800000;
  std::size_t begin = 0;
  for (; begin + kBlock <= row.size(); begin += kBlock) {
    std::uint32_t any = 0;
    for (std::size_t i = begin; i < begin + kBlock; ++i) {
      any |= (std::bit_cast<std::uint32_t>(row[i]) & kExponent) == kExponent ? 1u : 0u;
    }
    if (any != 0) break;
  }
  for (; begin < row.size(); ++begin) {
    if (std::isfinite(row[begin])) continue;
    return Error{ErrorCode::kInvalidArgument,
                 "the logit of token " + std::to_string(begin) + " is " +
                     (std::isnan(row[begin]) ? "not a number" : "infinite")};
  }
  return Ok();
}

void Candidates::Assign(std::span<const float> row) {
  row_.assign(row.begin(), row.end());
  list_.clear();
  is_list_ = is_sorted_ = false;
}

void Candidates::Remove(TokenId id) { row_[static_cast<std::size_t>(id)] = -kInfinity; }

void Candidates::KeepAllowed(std::span<const std::uint64_t> allowed) {
  for (std::size_t begin = 0; begin < row_.size(); begin += 64) {
    const std::uint64_t word = allowed[begin / 64];
    if (word == UINT64_MAX) continue;
    const std::size_t n = std::min<std::size_t>(64, row_.size() - begin);
    if (word == 0) {  // most of them, where a grammar decides
      std::fill_n(row_.begin() + static_cast<std::ptrdiff_t>(begin), n, -kInfinity);
      continue;
    }
    for (std::size_t i = 0; i < n; ++i) {
      if ((word >> i & 1) == 0) row_[begin + i] = -kInfinity;
    }
  }
}

void Candidates::Change(std::span<const TokenId> ids,
                        FunctionRef<float(float logit, std::size_t index)> change) {
  if (!is_list_) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      float& logit = row_[static_cast<std::size_t>(ids[i])];
      if (logit > -kInfinity) logit = change(logit, i);
    }
    return;
  }
  for (Candidate& candidate : list_) {
    const auto found = std::ranges::lower_bound(ids, candidate.id);
    if (found == ids.end() || *found != candidate.id) continue;
    candidate.logit = change(candidate.logit, static_cast<std::size_t>(found - ids.begin()));
    is_sorted_ = false;
  }
}

float Candidates::MaxLogit() const {
  if (!is_list_) return MaxOf(row_);
  float max = -kInfinity;
  for (const Candidate& candidate : list_) max = std::max(max, candidate.logit);
  return max;
}

double Candidates::SumExpAll(float max) const {
  if (!is_list_) return SumExp(row_, max);
  double sum = 0;
  for (const Candidate& candidate : list_) {
    sum += static_cast<double>(ExpNonPositive(candidate.logit - max));
  }
  return sum;
}

void Candidates::Sort() {
  if (is_sorted_) return;
  SortBestFirst(list_, scratch_);
  is_sorted_ = true;
}

void Candidates::BecomeList() {
  if (is_list_) return;
  const float none = -kInfinity;
  list_.clear();
  ForEachAbove(row_, none, [&](std::size_t i) {
    list_.push_back({row_[i], static_cast<TokenId>(i)});
  });
  is_list_ = true;
  is_sorted_ = false;
}

void Candidates::KeepAtLeast(float logit) {
  if (is_list_) {
    std::erase_if(list_, [&](const Candidate& candidate) { return candidate.logit < logit; });
    return;
  }
  const float below = std::nextafter(logit, -kInfinity);
  list_.clear();
  ForEachAbove(row_, below, [&](std::size_t i) {
    list_.push_back({row_[i], static_cast<TokenId>(i)});
  });
  is_list_ = true;
  is_sorted_ = false;
}

void Candidates::KeepTop(std::size_t k) {
  if (!is_list_) {
    SelectTop(row_, k, list_);
    is_list_ = is_sorted_ = true;
    return;
  }
  if (k >= list_.size()) return;
  if (!is_sorted_) {
    std::ranges::nth_element(list_, list_.begin() + static_cast<std::ptrdiff_t>(k), IsBetter);
  }
  list_.resize(k);
}

void Candidates::KeepTopP(float p) {
  const float max = MaxLogit();
  const double goal = static_cast<double>(p) * SumExpAll(max);
  // How many of the best, in list_, reach the goal; all of them if none do.
  const auto n_needed = [&] {
    double sum = 0;
    std::size_t n = 0;
    while (n < list_.size() && (n == 0 || sum < goal)) {
      sum += static_cast<double>(ExpNonPositive(list_[n++].logit - max));
    }
    return sum >= goal ? n : list_.size() + 1;
  };
  if (is_list_) {
    Sort();
    list_.resize(std::min(n_needed(), list_.size()));
    return;
  }
  // A few best tokens are usually enough: more are ranked only when they are not, and all of them
  // only if rounding wants it.
  SelectTop(row_, kFew, list_);
  std::size_t n = n_needed();
  for (const double mass : {goal, static_cast<double>(kInfinity)}) {
    if (n <= list_.size()) break;
    SelectMass(row_, max, mass, list_);
    SortBestFirst(list_, scratch_);
    n = n_needed();
  }
  list_.resize(std::min(n, list_.size()));
  is_list_ = is_sorted_ = true;
}

void Candidates::KeepMinP(float p) {
  if (p > 0) KeepAtLeast(MaxLogit() + std::log(p));
}

void Candidates::KeepTopNSigma(float n) {
  BecomeList();
  double sum = 0, squares = 0;
  float max = -kInfinity;
  for (const Candidate& candidate : list_) {
    sum += static_cast<double>(candidate.logit);
    max = std::max(max, candidate.logit);
  }
  const double mean = sum / static_cast<double>(list_.size());
  for (const Candidate& candidate : list_) {
    const double off = static_cast<double>(candidate.logit) - mean;
    squares += off * off;
  }
  const double deviation = std::sqrt(squares / static_cast<double>(list_.size()));
  KeepAtLeast(static_cast<float>(static_cast<double>(max) - static_cast<double>(n) * deviation));
}

void Candidates::KeepSurprise(float bits) {
  const float max = MaxLogit();
  const double log_sum = static_cast<double>(max) + std::log(SumExpAll(max));
  const double least = log_sum - static_cast<double>(bits) * std::log(2.0);
  KeepAtLeast(std::min(max, static_cast<float>(least)));
}

void Candidates::KeepTypical(float p) {
  BecomeList();
  const float max = MaxLogit();
  const double total = SumExpAll(max);
  const double log_total = std::log(total);
  const auto weight = [&](const Candidate& candidate) {
    return static_cast<double>(ExpNonPositive(candidate.logit - max));
  };
  const auto surprise = [&](const Candidate& candidate) {
    return log_total - static_cast<double>(candidate.logit - max);
  };
  double entropy = 0;
  for (const Candidate& candidate : list_) {
    const double share = weight(candidate) / total;
    if (share > 0) entropy += share * surprise(candidate);
  }
  keyed_.clear();
  for (const Candidate& candidate : list_) {
    keyed_.push_back({static_cast<float>(std::abs(surprise(candidate) - entropy)), candidate});
  }
  const auto nearer = [](const Keyed& a, const Keyed& b) {
    return a.key < b.key || (a.key == b.key && IsBetter(a.candidate, b.candidate));
  };
  const double goal = static_cast<double>(p) * total;
  double sum = 0;
  list_.clear();
  for (std::size_t done = 0, k = 64; done < keyed_.size() && sum < goal; k *= 4) {
    const std::size_t end = std::min(keyed_.size(), k);
    std::partial_sort(keyed_.begin() + static_cast<std::ptrdiff_t>(done),
                      keyed_.begin() + static_cast<std::ptrdiff_t>(end), keyed_.end(), nearer);
    for (; done < end && sum < goal; ++done) {
      list_.push_back(keyed_[done].candidate);
      sum += weight(keyed_[done].candidate);
    }
  }
  is_sorted_ = false;
}

void Candidates::ExcludeTop(float threshold) {
  const float max = MaxLogit();
  const double share = static_cast<double>(threshold) * SumExpAll(max);
  const float least = threshold > 0 ? max + static_cast<float>(std::log(share)) : -kInfinity;
  if (is_list_) {
    Sort();
    const auto end = std::ranges::find_if(
        list_, [&](const Candidate& candidate) { return candidate.logit < least; });
    if (end - list_.begin() > 1) list_.erase(list_.begin(), end - 1);
    return;
  }
  const float below = std::nextafter(least, -kInfinity);
  std::size_t n_top = 0;
  ForEachAbove(row_, below, [&](std::size_t) { ++n_top; });
  if (n_top < 2) return;
  SelectTop(row_, n_top, list_);
  for (std::size_t i = 0; i + 1 < n_top; ++i) Remove(list_[i].id);
}

void Candidates::DivideBy(float temperature) {
  const float max = MaxLogit();
  // Small temperatures may overflow. Only differences count, unless penalties follow.
  const float shift = std::isfinite(max / temperature) ? 0.0f : max;
  if (!is_list_) {
    for (float& logit : row_) logit = (logit - shift) / temperature;
    return;
  }
  for (Candidate& candidate : list_) candidate.logit = (candidate.logit - shift) / temperature;
}

Candidate Candidates::Best() const {
  if (is_list_) return *std::ranges::min_element(list_, IsBetter);
  Candidate best{-kInfinity, 0};
  ForEachAbove(row_, best.logit, [&](std::size_t i) {
    if (row_[i] > best.logit) best = {row_[i], static_cast<TokenId>(i)};
  });
  return best;
}

Candidates::Drawn Candidates::Draw(double uniform) {
  const float max = MaxLogit();
  const double total = SumExpAll(max);
  LATTICE_DCHECK(total > 0);
  double left = uniform * total;
  Drawn drawn;
  // Rounding may leave a little after the last: then it is the last one with any weight.
  const auto take = [&](const Candidate& candidate) {
    const auto weight = static_cast<double>(ExpNonPositive(candidate.logit - max));
    if (weight == 0) return false;
    drawn = {candidate.id, weight / total};
    left -= weight;
    return left < 0;
  };
  if (is_list_) {
    for (const Candidate& candidate : list_) {
      if (take(candidate)) break;
    }
    return drawn;
  }
  for (std::size_t i = 0; i < row_.size(); ++i) {
    if (take({row_[i], static_cast<TokenId>(i)})) break;
  }
  return drawn;
}

std::vector<Candidate> Candidates::List() const {
  if (is_list_) return list_;
  std::vector<Candidate> all;
  for (std::size_t i = 0; i < row_.size(); ++i) {
    if (row_[i] > -kInfinity) all.push_back({row_[i], static_cast<TokenId>(i)});
  }
  return all;
}

}  // namespace lattice::decoding
