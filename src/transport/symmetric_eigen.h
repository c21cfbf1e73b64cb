#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lattice::transport {

/// Eigenvalues, rising, of a symmetric matrix [n, n] in f64, and its eigenvectors as the rows of
/// `vectors` [n, n] where asked for. Householder reduction to a tridiagonal matrix, then QL steps
/// with implicit shifts. Source: Golub and Van Loan, "Matrix Computations", section 8.3.
struct Eigen {
  std::vector<double> values, vectors;
};
Eigen SymmetricEigen(std::span<const double> matrix, std::size_t n, bool with_vectors);

}  // namespace lattice::transport
