#include "decoding/best_first.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "decoding/exp_sum.h"

namespace lattice::decoding {
namespace {

// Below this many, comparing is as quick as counting digits.
constexpr std::size_t kShort = 1024;

// Three digits of 11 bits are the 32 bits of a key.
constexpr unsigned kDigitBits = 11, kDigits = 3;
constexpr std::size_t kDigitValues = std::size_t{1} << kDigitBits;

/// Falls as the logit rises. Both zeros are one.
std::uint32_t KeyOf(const Candidate& candidate) {
  const auto bits = std::bit_cast<std::uint32_t>(candidate.logit + 0.0f);
  return (bits >> 31) != 0 ? bits : bits ^ 0x7FFF'FFFF;
}

std::size_t Digit(std::uint32_t key, unsigned digit) {
  return key >> (digit * kDigitBits) & (kDigitValues - 1);
}

/// Equal logits stand side by side, in the order in which they came.
void SortEqualsById(std::vector<Candidate>& list) {
  for (auto begin = list.begin(); begin != list.end();) {
    const float logit = begin->logit;
    const auto end = std::find_if(
        begin, list.end(), [=](const Candidate& candidate) { return candidate.logit != logit; });
    if (!std::is_sorted(begin, end, IsBetter)) std::sort(begin, end, IsBetter);
    begin = end;
  }
}

// Distances from the best logit are told apart in steps of 1/32; e^-128 is nothing in any sum.
constexpr float kStepsPerNat = 32, kLastStep = 4095;
constexpr std::size_t kSteps = 4096;

std::uint32_t StepOf(float logit, float max) {
  const float step = (max - logit) * kStepsPerNat;
  return static_cast<std::uint32_t>(step < kLastStep ? step : kLastStep);
}

}  // namespace

void SortBestFirst(std::vector<Candidate>& list, std::vector<Candidate>& scratch) {
  if (list.size() < kShort) {
    std::ranges::sort(list, IsBetter);
    return;
  }
  std::array<std::array<std::uint32_t, kDigitValues>, kDigits> counts{};
  for (const Candidate& candidate : list) {
    const std::uint32_t key = KeyOf(candidate);
    for (unsigned digit = 0; digit < kDigits; ++digit) ++counts[digit][Digit(key, digit)];
  }
  scratch.resize(list.size());
  for (unsigned digit = 0; digit < kDigits; ++digit) {
    std::uint32_t begin = 0;
    for (std::uint32_t& count : counts[digit]) begin += std::exchange(count, begin);
    for (const Candidate& candidate : list) {
      scratch[counts[digit][Digit(KeyOf(candidate), digit)]++] = candidate;
    }
    list.swap(scratch);
  }
  SortEqualsById(list);
}

void SelectMass(std::span<const float> row, float max, double mass, std::vector<Candidate>& out) {
  constexpr std::size_t kBlock = 64;
  std::array<double, kSteps> sums{};
  std::array<float, kBlock> weights;
  std::array<std::uint32_t, kBlock> steps;
  for (std::size_t begin = 0; begin < row.size(); begin += kBlock) {
    const std::span<const float> block = row.subspan(begin, std::min(kBlock, row.size() - begin));
    for (std::size_t i = 0; i < block.size(); ++i) {
      weights[i] = ExpNonPositive(block[i] - max);
      steps[i] = StepOf(block[i], max);
    }
    for (std::size_t i = 0; i < block.size(); ++i) {
      sums[steps[i]] += static_cast<double>(weights[i]);
    }
  }
  std::uint32_t last = 0;
  // Another order of addition gives another sum: a hair more makes up for it.
  const double enough = mass * (1 + 1e-9);
  for (double sum = sums[0]; sum < enough && last < kSteps - 1; sum += sums[++last]) {
  }
  out.clear();
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (StepOf(row[i], max) > last || row[i] == -std::numeric_limits<float>::infinity()) continue;
    out.push_back({row[i], static_cast<TokenId>(i)});
  }
}

}  // namespace lattice::decoding
