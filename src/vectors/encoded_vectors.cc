#include "lattice/encoded_vectors.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <utility>

#include "base/checked_math.h"
#include "base/thread_pool.h"
#include "numeric/float16.h"
#include "vectors/dot/dot.h"
#include "vectors/narrow_dot/narrow_dot.h"
#include "vectors/selection.h"

namespace lattice {
namespace {

constexpr std::size_t kMostDims = 65536;
constexpr std::size_t kMostThreads = 1024;
constexpr std::size_t kGrainBytes = std::size_t{1} << 17;  // That one worker takes at least.
constexpr std::size_t kBlockBytes = std::size_t{1} << 14;  // That meets all queries.
constexpr std::string_view kEncodings[] = {"f32", "f16", "bf16", "int8", "int4", "binary"};
constexpr std::string_view kMetrics[] = {"cosine", "dot", "l2sq", "l2"};

Error Invalid(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message)};
}

Error BadRow(std::size_t row) {
  return Invalid("the score of row " + std::to_string(row) + " is too large for f32");
}

// Of a vector; zero where it is zero.
float ScaleOf(std::span<const float> x, float most) {
  float largest = 0;
  for (const float v : x) largest = std::max(largest, std::fabs(v));
  return largest / most;
}

// v / scale to the nearest integer, ties to even; 0 where the scale is zero or has vanished.
int Rounded(float v, float scale, int most) {
  if (scale == 0) return 0;
  const double exact = std::nearbyint(static_cast<double>(v) / static_cast<double>(scale));
  return static_cast<int>(std::clamp(exact, -static_cast<double>(most), static_cast<double>(most)));
}

void EncodeInt4(std::span<const float> x, float scale, std::byte* out) {
  for (std::size_t i = 0; i < x.size(); i += 2) {
    const int low = Rounded(x[i], scale, 7) + 8;
    const int high = i + 1 < x.size() ? Rounded(x[i + 1], scale, 7) + 8 : 8;
    out[i / 2] = static_cast<std::byte>(low | high << 4);
  }
}

// Gives the scale of the vector. `out` holds zeros.
float EncodeRow(VectorEncoding encoding, std::span<const float> x, std::byte* out) {
  float scale = 1;
  switch (encoding) {
    case VectorEncoding::kF32:
      std::memcpy(out, x.data(), x.size_bytes());
      break;
    case VectorEncoding::kF16:
    case VectorEncoding::kBf16:
      for (std::size_t i = 0; i < x.size(); ++i) {
        const std::uint16_t bits =
            encoding == VectorEncoding::kF16 ? F32ToF16(x[i]) : F32ToBf16(x[i]);
        std::memcpy(out + 2 * i, &bits, sizeof(bits));
      }
      break;
    case VectorEncoding::kInt8:
      scale = ScaleOf(x, 127);
      for (std::size_t i = 0; i < x.size(); ++i) {
        out[i] = static_cast<std::byte>(Rounded(x[i], scale, 127));
      }
      break;
    case VectorEncoding::kInt4:
      scale = ScaleOf(x, 7);
      EncodeInt4(x, scale, out);
      break;
    case VectorEncoding::kBinary:
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (x[i] < 0) out[i / 8] |= std::byte{1} << (i % 8);
      }
      break;
  }
  return scale;
}

std::size_t RowBytes(VectorEncoding encoding, std::size_t dims) {
  switch (encoding) {
    case VectorEncoding::kF32:
      return 4 * dims;
    case VectorEncoding::kF16:
    case VectorEncoding::kBf16:
      return 2 * dims;
    case VectorEncoding::kInt8:
      return dims;
    case VectorEncoding::kInt4:
      return (dims + 1) / 2;
    case VectorEncoding::kBinary:
      return (dims + 7) / 8;
  }
  return 0;
}

const float* AsFloats(const std::byte* p) { return reinterpret_cast<const float*>(p); }
const std::uint16_t* AsHalves(const std::byte* p) {
  return reinterpret_cast<const std::uint16_t*>(p);
}
const std::int8_t* AsInt8(const std::byte* p) { return reinterpret_cast<const std::int8_t*>(p); }
const std::uint8_t* AsBytes(const std::byte* p) { return reinterpret_cast<const std::uint8_t*>(p); }

// What scores want of a vector's length: its inverse, 0 of zero, or its square. Kept, so that a
// cosine has no root and no quotient.
double LengthOf(Metric metric, float squared) {
  if (metric != Metric::kCosine) return static_cast<double>(squared);
  return squared == 0 ? 0 : 1 / std::sqrt(static_cast<double>(squared));
}

// Whether queries are encoded as rows are.
bool IsQueryEncoded(const VectorIdentity& identity) {
  return identity.encoding == VectorEncoding::kInt4 || identity.encoding == VectorEncoding::kBinary;
}

Status CheckVector(const VectorIdentity& identity, std::span<const float> x, std::size_t row) {
  const float most = identity.encoding == VectorEncoding::kF16   ? 65504.0f
                     : identity.encoding == VectorEncoding::kF32 ? std::numeric_limits<float>::max()
                                                                 : 3.0e38f;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!(std::fabs(x[i]) <= most)) {
      return Invalid("row " + std::to_string(row) + ": element " + std::to_string(i) +
                     " is not finite, or too large for this encoding");
    }
  }
  return Ok();
}

}  // namespace

std::string VectorIdentity::ToString() const {
  return std::string(kEncodings[static_cast<std::size_t>(encoding)]) + '/' + std::to_string(dims) +
         (is_unit ? "/unit/" : "/raw/") + std::string(kMetrics[static_cast<std::size_t>(metric)]);
}

Result<VectorIdentity> VectorIdentity::Parse(std::string_view text) {
  VectorIdentity out;
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string_view rest = text.substr(slash);
  std::from_chars(rest.data() + (rest.empty() ? 0 : 1), rest.data() + rest.size(), out.dims);
  // Whichever identity prints as this text.
  for (std::size_t e = 0; e < std::size(kEncodings); ++e) {
    for (std::size_t m = 0; m < std::size(kMetrics); ++m) {
      for (const bool is_unit : {false, true}) {
        out.encoding = static_cast<VectorEncoding>(e);
        out.metric = static_cast<Metric>(m);
        out.is_unit = is_unit;
        if (out.dims > 0 && out.ToString() == text) return out;
      }
    }
  }
  return Invalid("'" + std::string(text) + "' names no vectors; an example: int8/384/unit/cosine");
}

Result<EncodedVectors> EncodedVectors::Encode(const VectorIdentity& identity,
                                              std::span<const float> values) {
  return Encode(identity, values, VectorOps().instruction_set());
}

Result<EncodedVectors> EncodedVectors::Encode(const VectorIdentity& identity,
                                              std::span<const float> values,
                                              std::string_view instruction_set) {
  const std::size_t dims = identity.dims;
  if (dims == 0 || dims > kMostDims || values.size() % dims != 0) {
    return Invalid(std::to_string(values.size()) + " elements are no rows of " +
                   std::to_string(dims) + "; dimensions are 1 to 65536");
  }
  LATTICE_TRY(const CpuFeatures features, CpuFeatures::Named(instruction_set));
  EncodedVectors out;
  LATTICE_TRY(out.ops_, VectorOps::WithInstructionSet(instruction_set));
  out.identity_ = identity;
  const bool is_best = instruction_set == VectorOps().instruction_set();
  out.fns_ = vectors::SelectNarrowDot(is_best ? CpuFeatures::Detect() : features).fns;
  out.dots_ = vectors::SelectDot(features).fns;
  out.row_bytes_ = RowBytes(identity.encoding, dims);
  const std::size_t n_rows = values.size() / dims;
  out.bytes_.resize(n_rows * out.row_bytes_);
  std::vector<float> row(dims);
  for (std::size_t r = 0; r < n_rows; ++r) {
    std::ranges::copy(values.subspan(r * dims, dims), row.begin());
    if (identity.is_unit) {
      const Status status = out.ops_.Normalise(row);
      if (!status) return Error(status.error()).Within("row " + std::to_string(r));
    }
    LATTICE_TRY_VOID(CheckVector(identity, row, r));
    out.scales_.push_back(
        EncodeRow(identity.encoding, row, out.bytes_.data() + r * out.row_bytes_));
    if (identity.encoding == VectorEncoding::kBinary) continue;
    const std::vector<float> stored = out.Decode(r);
    LATTICE_TRY(const float squared, out.ops_.Dot(stored, stored));
    out.lengths_.push_back(LengthOf(identity.metric, squared));
  }
  if (identity.encoding == VectorEncoding::kBinary) {
    out.lengths_.assign(n_rows, LengthOf(identity.metric, static_cast<float>(dims)));
  }
  return out;
}

std::vector<float> EncodedVectors::Decode(std::size_t row) const {
  LATTICE_CHECK(row < size());
  const std::byte* const from = Row(row);
  std::vector<float> out(identity_.dims);
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t half = 0;
    switch (identity_.encoding) {
      case VectorEncoding::kF32:
        out[i] = AsFloats(from)[i];
        break;
      case VectorEncoding::kF16:
      case VectorEncoding::kBf16:
        std::memcpy(&half, from + 2 * i, sizeof(half));
        out[i] = identity_.encoding == VectorEncoding::kF16 ? F16ToF32(half) : Bf16ToF32(half);
        break;
      case VectorEncoding::kInt8:
        out[i] = scales_[row] * static_cast<float>(AsInt8(from)[i]);
        break;
      case VectorEncoding::kInt4:
        out[i] = scales_[row] * static_cast<float>((AsBytes(from)[i / 2] >> (i % 2 * 4) & 15) - 8);
        break;
      case VectorEncoding::kBinary:
        out[i] = (AsBytes(from)[i / 8] >> (i % 8) & 1) != 0 ? -1.0f : 1.0f;
        break;
    }
  }
  return out;
}

float EncodedVectors::ScoreOf(float dot, double query_length, double row_length) const {
  switch (identity_.metric) {
    case Metric::kDot:
      return dot;
    case Metric::kSquaredEuclidean:
    case Metric::kEuclidean: {
      // Bits that differ, of vectors of 1 and -1: a quarter of the squared distance.
      const double part = identity_.encoding == VectorEncoding::kBinary ? 0.25 : 1;
      const double both = query_length + row_length - 2 * static_cast<double>(dot);
      const auto squared = static_cast<float>(std::max(0.0, both * part));
      return identity_.metric == Metric::kEuclidean ? std::sqrt(squared) : squared;
    }
    case Metric::kCosine:
      return static_cast<float>(
          std::clamp(static_cast<double>(dot) * (query_length * row_length), -1.0, 1.0));
  }
  return NAN;
}

Result<float> EncodedVectors::Score(std::size_t i, const EncodedVectors& other,
                                    std::size_t j) const {
  if (identity_ != other.identity_) {
    return Invalid("vectors of " + identity_.ToString() + " and of " + other.identity_.ToString());
  }
  if (i >= size() || j >= other.size()) return Invalid("no such row");
  const std::byte *const a = Row(i), *const b = other.Row(j);
  const float scales = scales_[i] * other.scales_[j];
  float dot = 0;
  switch (identity_.encoding) {
    case VectorEncoding::kF32:
      dot = dots_->dot(AsFloats(a), AsFloats(b), identity_.dims);
      break;
    case VectorEncoding::kF16:
      dot = fns_->f16_pair(AsHalves(a), AsHalves(b), identity_.dims);
      break;
    case VectorEncoding::kBf16:
      dot = fns_->bf16_pair(AsHalves(a), AsHalves(b), identity_.dims);
      break;
    case VectorEncoding::kInt8:
      dot = scales * static_cast<float>(fns_->i8(AsInt8(a), AsInt8(b), identity_.dims));
      break;
    case VectorEncoding::kInt4:
      dot = scales * static_cast<float>(fns_->i4(AsBytes(a), AsBytes(b), row_bytes_));
      break;
    case VectorEncoding::kBinary:
      dot = static_cast<float>(identity_.dims) -
            2 * static_cast<float>(fns_->hamming(AsBytes(a), AsBytes(b), row_bytes_));
      break;
  }
  const float score = ScoreOf(dot, lengths_[i], other.lengths_[j]);
  if (!std::isfinite(score)) return Invalid("a score too large for f32");
  return score;
}

Result<EncodedVectors::Query> EncodedVectors::Prepare(std::span<const float> query) const {
  if (query.size() != identity_.dims) {
    return Invalid("a query of " + std::to_string(query.size()) + " dimensions for rows of " +
                   std::to_string(identity_.dims));
  }
  Query out;
  out.identity = identity_;
  out.values.assign(query.begin(), query.end());
  if (identity_.is_unit) LATTICE_TRY_VOID(ops_.Normalise(out.values));
  LATTICE_TRY(float squared, ops_.Dot(out.values, out.values));
  out.length = LengthOf(identity_.metric, squared);
  if (!IsQueryEncoded(identity_)) return out;
  const bool is_binary = identity_.encoding == VectorEncoding::kBinary;
  out.encoded.resize(row_bytes_);
  out.scale = EncodeRow(identity_.encoding, out.values, out.encoded.data());
  const float of_bits = static_cast<float>(identity_.dims);
  const std::uint8_t* const own = AsBytes(out.encoded.data());
  squared = is_binary ? of_bits
                      : out.scale * out.scale * static_cast<float>(fns_->i4(own, own, row_bytes_));
  out.length = LengthOf(identity_.metric, squared);
  return out;
}

float EncodedVectors::DotWith(const Query& query, std::size_t row) const {
  const std::byte* const x = Row(row);
  switch (identity_.encoding) {
    case VectorEncoding::kF32:
      return dots_->dot(query.values.data(), AsFloats(x), identity_.dims);
    case VectorEncoding::kF16:
      return fns_->f16(query.values.data(), AsHalves(x), identity_.dims);
    case VectorEncoding::kBf16:
      return fns_->bf16(query.values.data(), AsHalves(x), identity_.dims);
    case VectorEncoding::kInt8:
      return scales_[row] * fns_->wide_i8(query.values.data(), AsInt8(x), identity_.dims);
    case VectorEncoding::kInt4:
      return query.scale * scales_[row] *
             static_cast<float>(fns_->i4(AsBytes(query.encoded.data()), AsBytes(x), row_bytes_));
    case VectorEncoding::kBinary:
      return static_cast<float>(identity_.dims) -
             2 * static_cast<float>(
                     fns_->hamming(AsBytes(query.encoded.data()), AsBytes(x), row_bytes_));
  }
  return NAN;
}

// A block of rows, which stays in the nearest cache, meets all queries before the next one.
template <typename Visit>
std::size_t EncodedVectors::ScoreRows(std::span<const Query> queries, std::size_t begin,
                                      std::size_t end, Visit visit) const {
  const std::size_t block = kBlockBytes / row_bytes_ + 1;
  std::size_t bad = SIZE_MAX;
  for (std::size_t first = begin; first < std::min(end, bad); first += block) {
    for (std::size_t q = 0; q < queries.size(); ++q) {
      const std::size_t last = std::min({first + block, end, bad});
      for (std::size_t row = first; row < last; ++row) {
        const float score = ScoreOf(DotWith(queries[q], row), queries[q].length, lengths_[row]);
        if (std::isfinite(score)) {
          visit(q, row, score);
        } else {
          bad = row;
          break;
        }
      }
    }
  }
  return bad;
}

Status EncodedVectors::CheckQueries(std::span<const Query> queries, std::size_t n_threads) const {
  for (const Query& query : queries) {
    if (query.identity != identity_) {
      return Invalid("a query of " + query.identity.ToString() + " for rows of " +
                     identity_.ToString());
    }
    const bool is_whole = query.values.size() == identity_.dims &&
                          query.encoded.size() == (IsQueryEncoded(identity_) ? row_bytes_ : 0);
    if (!is_whole) return Invalid("a query that Prepare did not make");
  }
  if (n_threads <= kMostThreads) return Ok();
  return Invalid(std::to_string(n_threads) + " threads asked for, at most " +
                 std::to_string(kMostThreads));
}

Status EncodedVectors::Scores(std::span<const Query> queries, std::span<float> out,
                              std::size_t n_threads) const {
  LATTICE_TRY_VOID(CheckQueries(queries, n_threads));
  const auto wanted = CheckedMul(queries.size(), size());
  if (!wanted || out.size() != *wanted) {
    return Invalid(std::to_string(queries.size()) + " queries and " + std::to_string(size()) +
                   " rows, but room for " + std::to_string(out.size()) + " scores");
  }
  ThreadPool pool(n_threads == 0 ? ThreadPool::DefaultThreads() : n_threads);
  std::size_t bad_row = SIZE_MAX;
  std::mutex mutex;
  pool.ParallelFor(size(), kGrainBytes / row_bytes_ + 1, [&](std::size_t begin, std::size_t end) {
    const std::size_t bad = ScoreRows(
        queries, begin, end,
        [&](std::size_t q, std::size_t row, float score) { out[q * size() + row] = score; });
    const std::scoped_lock lock(mutex);
    bad_row = std::min(bad_row, bad);
  });
  return bad_row < size() ? Status(BadRow(bad_row)) : Ok();
}

Result<std::vector<std::vector<Neighbour>>> EncodedVectors::TopKMany(std::span<const Query> queries,
                                                                     std::size_t k,
                                                                     std::size_t n_threads) const {
  using vectors::Selection;
  LATTICE_TRY_VOID(CheckQueries(queries, n_threads));
  k = std::min(k, size());
  std::vector<std::vector<Neighbour>> out(queries.size());
  if (k == 0) return out;
  ThreadPool pool(n_threads == 0 ? ThreadPool::DefaultThreads() : n_threads);
  std::vector<Selection> best(queries.size(), Selection(identity_.metric, k));
  std::size_t bad_row = SIZE_MAX;
  std::mutex mutex;
  pool.ParallelFor(size(), kGrainBytes / row_bytes_ + 1, [&](std::size_t begin, std::size_t end) {
    std::vector<Selection> own(queries.size(),
                               Selection(identity_.metric, std::min(k, end - begin)));
    const std::size_t bad =
        ScoreRows(queries, begin, end, [&](std::size_t q, std::size_t row, float score) {
          own[q].Offer({row, score});
        });
    const std::scoped_lock lock(mutex);
    bad_row = std::min(bad_row, bad);
    for (std::size_t q = 0; q < own.size(); ++q) {
      for (const Neighbour& chosen : own[q].chosen()) best[q].Offer(chosen);
    }
  });
  if (bad_row < size()) return BadRow(bad_row);
  for (std::size_t q = 0; q < out.size(); ++q) out[q] = std::move(best[q]).Sorted();
  return out;
}

Result<std::vector<Neighbour>> EncodedVectors::TopK(const Query& query, std::size_t k,
                                                    std::size_t n_threads) const {
  LATTICE_TRY(auto found, TopKMany({&query, 1}, k, n_threads));
  return std::move(found.front());
}

Result<std::vector<Neighbour>> EncodedVectors::TopK(std::span<const float> query, std::size_t k,
                                                    std::size_t n_threads) const {
  LATTICE_TRY(const Query prepared, Prepare(query));
  return TopK(prepared, k, n_threads);
}

}  // namespace lattice
