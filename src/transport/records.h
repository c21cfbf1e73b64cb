#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "lattice/transport.h"
#include "numeric/random.h"

namespace lattice::transport {

/// `n` of 0..size-1 at random, in rising order; all when there are no more.
inline std::vector<std::size_t> Choose(std::size_t size, std::size_t n, Random random) {
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (n >= size) return order;
  random.Shuffle(std::span(order));
  order.resize(n);
  std::ranges::sort(order);
  return order;
}

/// The rows of `values` [*, dims] with these numbers.
inline std::vector<float> Gather(std::span<const float> values, std::size_t dims,
                                 std::span<const std::size_t> rows) {
  std::vector<float> out(rows.size() * dims);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::ranges::copy(values.subspan(rows[i] * dims, dims), &out[i * dims]);
  }
  return out;
}

/// Whole rows, at least one, and no weights.
inline Status CheckRecords(std::string_view what, const Points& points) {
  const auto invalid = [&](std::string_view why) {
    return Error{ErrorCode::kInvalidArgument, std::string(what) + ": " + std::string(why)};
  };
  if (points.dims == 0 || points.values.empty()) return invalid("no vectors");
  if (points.values.size() % points.dims != 0) return invalid("vectors that are not whole");
  if (!points.weights.empty()) return invalid("records have no weights here");
  return Ok();
}

}  // namespace lattice::transport
