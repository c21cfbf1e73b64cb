#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lattice/result.h"
#include "lattice/vectors.h"

namespace lattice {

namespace vectors {
struct DotFns;
struct NarrowDotFns;
}  // namespace vectors

/// How the elements of a vector are stored.
///   f32        as they are
///   f16, bf16  rounded to nearest even; f16 takes values up to 65504
///   int8       -127..127 times a scale of the vector: the largest magnitude / 127
///   int4       -7..7 times a scale of the vector, two to a byte, the first in the low bits
///   binary     one bit: the sign; zero counts as positive. Compared by the bits that differ
enum class VectorEncoding : std::uint8_t { kF32, kF16, kBf16, kInt8, kInt4, kBinary };

/// What makes stored vectors comparable. The text form is stable: "int8/384/unit/cosine".
struct VectorIdentity {
  VectorEncoding encoding = VectorEncoding::kInt8;
  std::size_t dims = 0;
  bool is_unit = false;  ///< Vectors were scaled to length 1 before they were stored.
  Metric metric = Metric::kCosine;

  std::string ToString() const;
  /// kInvalidArgument for anything that ToString does not give.
  static Result<VectorIdentity> Parse(std::string_view text);
  friend bool operator==(const VectorIdentity&, const VectorIdentity&) = default;
};

/// Rows of vectors in one encoding, searched exactly: scores are those of the stored values,
/// the query stays in f32 (int4 and binary: is encoded too). Move-only; immutable, so that threads
/// may share it.
///
/// Scores  of a zero vector: cosine 0. kSquaredEuclidean is |q|^2 + |x|^2 - 2 q.x, at least 0;
///         kEuclidean its root. Its error is about 1e-7 (|q|^2 + |x|^2), whatever the distance.
///         Binary: the share of equal bits as (n - 2 differing) / n, in [-1, 1], for kCosine; the
///         number of equal less differing bits for kDot; differing bits for kSquaredEuclidean,
///         their root for kEuclidean.
/// Errors  kInvalidArgument: sizes that do not match, more than 65,536 dimensions, a value that is
///         not finite (named) or that the encoding cannot hold, a score too large for f32.
/// Same bits  for any instruction set and any number of threads.
class EncodedVectors {
 public:
  /// values: [n_rows, identity.dims].
  static Result<EncodedVectors> Encode(const VectorIdentity& identity,
                                       std::span<const float> values);
  /// Pins the kernels as VectorOps does.
  static Result<EncodedVectors> Encode(const VectorIdentity& identity,
                                       std::span<const float> values,
                                       std::string_view instruction_set);

  const VectorIdentity& identity() const { return identity_; }
  std::size_t size() const { return scales_.size(); }
  std::size_t row_bytes() const { return row_bytes_; }
  std::span<const std::byte> bytes() const { return bytes_; }  ///< [size, row_bytes]
  std::span<const float> scales() const { return scales_; }    ///< 1 where there are none.
  /// The stored values of a row; binary: 1 and -1.
  std::vector<float> Decode(std::size_t row) const;

  /// Scores of rows i and j of the same identity in the metric of the identity; integers are
  /// multiplied as integers.
  Result<float> Score(std::size_t i, const EncodedVectors& other, std::size_t j) const;

  /// A query, checked and prepared once, for rows of its identity. Borrows nothing.
  struct Query {
    VectorIdentity identity;
    std::vector<float> values;       ///< Of unit length where the identity says so.
    std::vector<std::byte> encoded;  ///< int4 and binary
    float scale = 1;                 ///< Of `encoded`.
    double length = 0;               ///< Cosine: its inverse, else its square.
  };
  Result<Query> Prepare(std::span<const float> query) const;
  /// out [n_queries, size]: the score of each row; undefined after an error. The rows are read once
  /// for all queries. Threads as for VectorOps::TopK.
  Status Scores(std::span<const Query> queries, std::span<float> out,
                std::size_t n_threads = 1) const;
  /// As VectorOps::TopKMany.
  Result<std::vector<std::vector<Neighbour>>> TopKMany(std::span<const Query> queries,
                                                       std::size_t k,
                                                       std::size_t n_threads = 1) const;
  /// As VectorOps::TopK.
  Result<std::vector<Neighbour>> TopK(const Query& query, std::size_t k,
                                      std::size_t n_threads = 1) const;
  Result<std::vector<Neighbour>> TopK(std::span<const float> query, std::size_t k,
                                      std::size_t n_threads = 1) const;

 private:
  EncodedVectors() = default;
  float ScoreOf(float dot, double query_length, double row_length) const;
  float DotWith(const Query& query, std::size_t row) const;
  /// Calls visit(query, row, score) for rows [begin, end), of each query in rising order; gives the
  /// first with a score that is not finite, or SIZE_MAX.
  template <typename Visit>
  std::size_t ScoreRows(std::span<const Query> queries, std::size_t begin, std::size_t end,
                        Visit visit) const;
  Status CheckQueries(std::span<const Query> queries, std::size_t n_threads) const;
  const std::byte* Row(std::size_t i) const { return bytes_.data() + i * row_bytes_; }

  VectorIdentity identity_;
  const vectors::NarrowDotFns* fns_ = nullptr;
  const vectors::DotFns* dots_ = nullptr;
  VectorOps ops_;
  std::size_t row_bytes_ = 0;
  std::vector<std::byte> bytes_;
  std::vector<float> scales_;
  std::vector<double> lengths_;  // of rows as stored, as in Query
};

}  // namespace lattice
