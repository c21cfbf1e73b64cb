#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "base/token_id.h"
#include "lattice/result.h"

namespace lattice::decoding {

struct Candidate {
  float logit = 0;
  TokenId id = 0;
};

/// Higher logit first, of equals the lower id: the order of every ranking here.
inline bool IsBetter(const Candidate& a, const Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

/// The k best of a row in order, fewer if fewer are above -infinity, instead of what `out` held.
/// Linear in the row: most of it is only compared with the k-th best so far.
void SelectTop(std::span<const float> row, std::size_t k, std::vector<Candidate>& out);

/// The largest number of a row; -infinity for an empty one. No NaN in it.
float MaxOf(std::span<const float> row);

/// Sum of e^(x - max) over a row whose largest number is `max`, in double precision.
double SumExp(std::span<const float> row, float max);

/// kInvalidArgument names the first logit that is NaN or infinite.
Status CheckFinite(std::span<const float> row);

/// The tokens that may still be drawn, with their logits: the whole vocabulary at first, a list
/// once a filter has thinned it. No filter removes the best token but KeepTypical and
/// ExcludeTop, and none removes all. Buffers are kept from one row to the next.
class Candidates {
 public:
  /// Starts over with every token of a row of finite logits.
  void Assign(std::span<const float> row);

  // Before any filter:
  void Add(TokenId id, float amount) { row_[static_cast<std::size_t>(id)] += amount; }
  void Remove(TokenId id);
  /// Removes tokens whose bit is clear: bit id % 64 of word id / 64.
  void KeepAllowed(std::span<const std::uint64_t> allowed);

  /// Replaces the logit of each token in `ids` that is still there by change(logit, index in ids).
  ///
  /// ids  in rising order, without repetition.
  void Change(std::span<const TokenId> ids,
              FunctionRef<float(float logit, std::size_t index)> change);

  void KeepTop(std::size_t k);
  void KeepTopP(float p);
  void KeepMinP(float p);
  void KeepTypical(float p);
  void KeepTopNSigma(float n);
  /// Tokens with a surprise of at most `bits`, or the best alone.
  void KeepSurprise(float bits);
  /// Of the tokens whose probability is at least `threshold`, removes all but the least likely.
  void ExcludeTop(float threshold);
  void DivideBy(float temperature);

  /// Whether any is left.
  bool any() const { return MaxLogit() > -kInfinity; }
  /// The best one. Some are left.
  Candidate Best() const;

  struct Drawn {
    TokenId id = 0;
    double probability = 0;
  };
  /// Draws by probability. Some are left.
  ///
  /// uniform  in [0, 1).
  Drawn Draw(double uniform);

  /// The tokens that are left, in no particular order.
  std::vector<Candidate> List() const;

 private:
  static constexpr float kInfinity = __builtin_huge_valf();

  float MaxLogit() const;
  double SumExpAll(float max) const;
  void KeepAtLeast(float logit);
  void Sort();
  void BecomeList();

  std::vector<float> row_;       // by id, -infinity for what is removed; unless is_list_
  std::vector<Candidate> list_;  // if is_list_
  bool is_list_ = false;
  bool is_sorted_ = false;  // list_, best first
  std::vector<Candidate> scratch_;
  struct Keyed {
    float key;
    Candidate candidate;
  };
  std::vector<Keyed> keyed_;
};

}  // namespace lattice::decoding
