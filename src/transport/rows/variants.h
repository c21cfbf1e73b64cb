#pragma once

#include <cstddef>

namespace lattice::transport {

/// The functions of one instruction set; rows.h has their contract.
struct RowFns {
  float (*affine_max)(const float* s, const float* h, float scale, std::size_t n, float* z);
  double (*exp_sum)(float* z, float max, std::size_t n);
  void (*exp_sum_moment)(float* z, float max, std::size_t n, double* sums);
  void (*add_weighted)(const float* e, std::size_t stride, const float* weights, std::size_t n_rows,
                       double scale, std::size_t n, double* columns);
};

extern const RowFns kRowsScalar;
extern const RowFns kRowsAvx2;
extern const RowFns kRowsAvx512;
extern const RowFns kRowsNeon;

}  // namespace lattice::transport
