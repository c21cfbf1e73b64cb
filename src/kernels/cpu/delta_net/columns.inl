// Included by the files of instruction sets without a faster way.

namespace lattice::kernels {
namespace {

// columns[d][i] = rows[i][d] for kLanes rows.
inline void WriteColumns(const float* rows, std::size_t stride, std::size_t n_dims,
                         float* columns) {
  for (std::size_t i = 0; i < kLanes; ++i) {
    for (std::size_t d = 0; d < n_dims; ++d) columns[d * kLanes + i] = rows[i * stride + d];
  }
}

}  // namespace
}  // namespace lattice::kernels
