#pragma once

#include <algorithm>
#include <cstddef>

#include "fann/kernels.h"
#include "fann/network_data.h"

namespace lattice::fann {

/// Some columns [begin, end) of a layer's sums for n rows: z = x * weights^T + biases.
/// x [n, layer.n_inputs], z [n, layer.n_outputs], with strides.
inline void LayerSums(const NetworkData& data, std::size_t l, const Kernels& kernels,
                      const float* x, std::size_t x_stride, std::size_t n, std::size_t begin,
                      std::size_t end, float* z, std::size_t z_stride) {
  const LayerPlace& place = data.places[l];
  const float* parameters = data.values().data();
  for (std::size_t r = 0; r < n; ++r) {
    std::copy(parameters + place.biases + begin, parameters + place.biases + end,
              z + r * z_stride + begin);
  }
  kernels.product({.a = x,
                   .a_row_stride = x_stride,
                   .a_col_stride = 1,
                   .b = parameters + place.weights + begin,
                   .b_stride = place.stride,
                   .c = z + begin,
                   .c_stride = z_stride,
                   .m = n,
                   .n = end - begin,
                   .k = data.layers[l].n_inputs,
                   .accumulate = true});
}

}  // namespace lattice::fann
