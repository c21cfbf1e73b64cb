#include "kernels/cpu/host_tensor.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/checked_math.h"

namespace lattice::kernels {
namespace {

// In file order the bytes are those of all rows; an order of rows may leave some out.
bool OrderFits(const HostTensor& tensor, std::size_t row_bytes) {
  const auto size = CheckedMul(tensor.rows, row_bytes);
  if (!size) return false;
  if (tensor.row_order.empty()) return *size == tensor.bytes.size();
  if (tensor.row_order.size() != tensor.rows || row_bytes == 0) return false;
  const std::size_t n_stored = tensor.bytes.size() / row_bytes;
  return tensor.bytes.size() % row_bytes == 0 &&
         std::ranges::all_of(tensor.row_order, [=](std::uint32_t row) { return row < n_stored; });
}

bool Fits(const HostTensor& tensor, std::size_t rows, std::size_t cols) {
  if (!IsWeight(tensor.dtype) || tensor.rows != rows || tensor.cols != cols) return false;
  const BlockLayout layout = LayoutOf(tensor.dtype);
  if (cols % layout.elements != 0) return false;
  const auto row_bytes = CheckedMul(cols / layout.elements, layout.bytes);
  return row_bytes && OrderFits(tensor, *row_bytes);
}

}  // namespace

Status CheckTensor(const HostTensor& tensor, std::size_t rows, std::size_t cols, const char* what) {
  if (Fits(tensor, rows, cols)) return Ok();
  return Error{ErrorCode::kInvalidArgument,
               std::string(what) + " [" + std::to_string(tensor.rows) + ", " +
                   std::to_string(tensor.cols) + "] " + std::string(DtypeName(tensor.dtype)) +
                   " of " + std::to_string(tensor.bytes.size()) +
                   " bytes does not fit a linear layer [" + std::to_string(rows) + ", " +
                   std::to_string(cols) + "]"};
}

}  // namespace lattice::kernels
