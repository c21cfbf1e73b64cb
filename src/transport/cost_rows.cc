#include "transport/cost_rows.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/checked_math.h"

namespace lattice::transport {
namespace {

Error Invalid(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message)};
}

Status CheckFinite(std::string_view what, std::span<const float> x, std::size_t width) {
  const auto bad = std::ranges::find_if(x, [](float v) { return !std::isfinite(v); });
  if (bad == x.end()) return Ok();
  const auto at = static_cast<std::size_t>(bad - x.begin());
  return Invalid(std::string(what) + " " + std::to_string(at / width) +
                 " holds a value that is not finite");
}

// x - centre for each point of x: s then loses no digits to where the sets lie.
std::vector<float> Centred(std::span<const float> x, std::span<const double> centre) {
  std::vector<float> out(x.size());
  const std::size_t dims = centre.size();
  for (std::size_t i = 0; i < x.size(); ++i) {
    out[i] = static_cast<float>(static_cast<double>(x[i]) - centre[i % dims]);
  }
  return out;
}

std::vector<double> MeanOf(std::span<const float> x, std::size_t dims) {
  std::vector<double> mean(dims);
  for (std::size_t i = 0; i < x.size(); ++i) mean[i % dims] += static_cast<double>(x[i]);
  for (double& m : mean) m /= static_cast<double>(x.size() / dims);
  return mean;
}

std::vector<float> OfUnitLength(std::span<const float> x, std::size_t dims) {
  std::vector<float> out(x.begin(), x.end());
  for (std::size_t i = 0; i < x.size(); i += dims) {
    double squared = 0;
    for (std::size_t t = i; t < i + dims; ++t) squared += static_cast<double>(x[t]) * x[t];
    if (squared == 0) continue;
    const double norm = std::sqrt(squared);
    for (std::size_t t = i; t < i + dims; ++t) out[t] = static_cast<float>(x[t] / norm);
  }
  return out;
}

// |x|^2 + 2 x.shift for each point.
std::vector<double> SeparateParts(std::span<const float> x, std::span<const double> shift) {
  const std::size_t dims = shift.size();
  std::vector<double> out(x.size() / dims);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto v = static_cast<double>(x[i]);
    out[i / dims] += v * (v + 2 * shift[i % dims]);
  }
  return out;
}

}  // namespace

Result<CostRows> CostRows::FromPoints(const Cost& cost, const Kernels& kernels) {
  const std::size_t dims = cost.dims();
  if (dims == 0) return Invalid("points of different dimensions, or of none");
  if (cost.source().size() % dims != 0 || cost.target().size() % dims != 0) {
    return Invalid("points are not whole rows of " + std::to_string(dims));
  }
  LATTICE_TRY_VOID(CheckFinite("source point", cost.source(), dims));
  LATTICE_TRY_VOID(CheckFinite("target point", cost.target(), dims));
  CostRows rows;
  rows.kernels_ = kernels;
  rows.dims_ = dims;
  if (cost.ground() == Ground::kCosine) {
    rows.source_ = OfUnitLength(cost.source(), dims);
    rows.target_ = OfUnitLength(cost.target(), dims);
    rows.row_part_.assign(cost.n_sources(), 1.0);
    rows.column_part_.assign(cost.n_targets(), 0.0);
    rows.factor_ = 1;
    rows.source_centre_.assign(dims, 0.0);
    rows.target_centre_.assign(dims, 0.0);
  } else {
    // |x + u - y - v|^2 with u and v the means: all but x.y is separate.
    rows.source_centre_ = MeanOf(cost.source(), dims);
    rows.target_centre_ = MeanOf(cost.target(), dims);
    rows.source_ = Centred(cost.source(), rows.source_centre_);
    rows.target_ = Centred(cost.target(), rows.target_centre_);
    std::vector<double> shift(dims), back(dims);
    double squared = 0;
    for (std::size_t t = 0; t < dims; ++t) {
      shift[t] = rows.source_centre_[t] - rows.target_centre_[t];
      back[t] = -shift[t];
      squared += shift[t] * shift[t];
    }
    rows.row_part_ = SeparateParts(rows.source_, shift);
    rows.column_part_ = SeparateParts(rows.target_, back);
    for (double& part : rows.row_part_) part += squared;
    rows.factor_ = 2;
    for (const auto& part : {rows.row_part_, rows.column_part_}) {
      if (std::ranges::any_of(part, [](double v) { return !(std::fabs(v) < 1e37); })) {
        return Invalid("points are too far apart for f32");
      }
    }
  }
  rows.panels_ = AlignedBuffer(vectors::PanelElements(cost.n_targets(), dims) * sizeof(float));
  vectors::PackPanels(rows.target_, dims, rows.panels_.As<float>());
  return rows;
}

Result<CostRows> CostRows::Make(const Cost& cost, const Kernels& kernels, ThreadPool& pool,
                                std::size_t budget_bytes) {
  const std::size_t n = cost.n_sources(), m = cost.n_targets();
  if (n == 0 || m == 0) return Invalid("a set without points");
  const auto n_pairs = CheckedMul(n, m);
  if (!n_pairs) return Invalid("too many pairs");
  const bool fits = *n_pairs <= budget_bytes / sizeof(float);
  if (cost.kind() == Cost::Kind::kPoints) {
    LATTICE_TRY(CostRows rows, FromPoints(cost, kernels));
    if (fits) rows.Store(pool);
    return rows;
  }
  CostRows rows;
  rows.kernels_ = kernels;
  rows.factor_ = -1;
  rows.row_part_.assign(n, 0.0);
  rows.column_part_.assign(m, 0.0);
  if (cost.kind() == Cost::Kind::kFunction) {
    rows.function_ = cost.function();
    if (fits) {
      rows.Store(pool);
      LATTICE_TRY_VOID(CheckFinite("costs of source", rows.stored_, m));
    }
    return rows;
  }
  if (cost.source().size() != *n_pairs) {
    return Invalid("a matrix of " + std::to_string(cost.source().size()) + " costs for " +
                   std::to_string(n) + " times " + std::to_string(m) + " pairs");
  }
  LATTICE_TRY_VOID(CheckFinite("costs of source", cost.source(), m));
  rows.stored_ = cost.source();
  return rows;
}

void CostRows::Store(ThreadPool& pool) {
  const std::size_t n = n_rows(), m = n_columns();
  own_ = AlignedBuffer(n * m * sizeof(float));
  float* const out = own_.As<float>().data();
  pool.ParallelFor(n, 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; i += 64) {
      ComputeRows(i, std::min<std::size_t>(64, end - i), out + i * m);
    }
  });
  stored_ = std::span<const float>(out, n * m);
}

void CostRows::ComputeRows(std::size_t begin, std::size_t n, float* out) const {
  const std::size_t m = n_columns();
  if (function_) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < m; ++j) out[i * m + j] = function_(begin + i, j);
    }
    return;
  }
  const float* panels = panels_.As<float>().data();
  for (std::size_t j = 0; j < m; j += vectors::kPanelColumns) {
    kernels_.product({.a = source_.data() + begin * dims_,
                      .a_row_stride = dims_,
                      .a_col_stride = 1,
                      .b = panels + j * dims_,
                      .b_stride = vectors::kPanelColumns,
                      .c = out + j,
                      .c_stride = m,
                      .m = n,
                      .n = std::min(vectors::kPanelColumns, m - j),
                      .k = dims_});
  }
}

const float* CostRows::Rows(std::size_t begin, std::size_t n, float* scratch) const {
  if (is_stored()) return stored_.data() + begin * n_columns();
  ComputeRows(begin, n, scratch);
  return scratch;
}

float CostRows::Value(std::size_t i, std::size_t j) const {
  if (is_stored()) return stored_[i * n_columns() + j];
  if (function_) return function_(i, j);
  float s = 0;  // The order of the product kernels.
  for (std::size_t t = 0; t < dims_; ++t) {
    s = __builtin_fmaf(source_[i * dims_ + t], target_[j * dims_ + t], s);
  }
  return s;
}

void CostRows::Column(std::size_t j, std::span<float> out) const {
  if (is_stored() || function_) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = Value(i, j);
    return;
  }
  // One target's panel column is the right factor.
  kernels_.product({.a = source_.data(),
                    .a_row_stride = dims_,
                    .a_col_stride = 1,
                    .b = target_.data() + j * dims_,
                    .b_stride = 1,
                    .c = out.data(),
                    .c_stride = 1,
                    .m = n_rows(),
                    .n = 1,
                    .k = dims_});
}

CostRows::Scale CostRows::EstimateScale() const {
  constexpr std::size_t kMost = 64;
  const std::size_t rows = std::min(kMost, n_rows()), columns = std::min(kMost, n_columns());
  Scale scale;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::size_t i = r * n_rows() / rows;
    for (std::size_t c = 0; c < columns; ++c) {
      const std::size_t j = c * n_columns() / columns;
      const double cost = CostOf(i, j, static_cast<double>(Value(i, j)));
      scale.mean += cost;
      scale.most = std::max(scale.most, cost);
    }
  }
  scale.mean /= static_cast<double>(rows * columns);
  return scale;
}

}  // namespace lattice::transport
