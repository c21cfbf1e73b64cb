#include "kernels/cpu/delta_net/delta_net_state.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "lattice/check.h"

namespace lattice::kernels {
namespace {

static_assert(kChunkRows == kDeltaChunk);

constexpr std::size_t kKeyColumns = 16;  // See KeysArgs::chunk_keys.

constexpr std::uint64_t kFormat = 0x324E444554415453;  // "STATEDN2"

// What comes before the floats of a saved state.
using Header = std::array<std::uint64_t, 8>;

Header HeaderOf(const DeltaNetShape& shape, std::size_t n_tokens) {
  return {kFormat,
          shape.n_key_heads,
          shape.n_value_heads,
          shape.key_dim,
          shape.value_dim,
          shape.conv_kernel,
          static_cast<std::uint64_t>(shape.order),
          n_tokens};
}

std::size_t RoundUp(std::size_t n) { return (n + 15) / 16 * 16; }

Error Corrupt(const std::string& what) {
  return {ErrorCode::kCorruptData, "saved delta-net state: " + what};
}

}  // namespace

CpuDeltaNetState::CpuDeltaNetState(const DeltaNetShape& shape)
    : shape_(shape),
      padded_key_(RoundUp(shape.key_dim)),
      padded_value_(RoundUp(shape.value_dim)),
      window_rows_(shape.conv_kernel - 1 + kChunkRows) {
  LATTICE_CHECK(shape.n_key_heads > 0 && shape.n_value_heads % shape.n_key_heads == 0);
  LATTICE_CHECK(shape.key_dim > 0 && shape.value_dim > 0 && shape.conv_kernel > 0);
  chunk_keys_at_ = shape.n_value_heads * shape.key_dim * padded_value_;
  u_at_ = chunk_keys_at_ + shape.n_key_heads * shape.key_dim * kChunkRows;
  g_at_ = u_at_ + shape.n_value_heads * kChunkRows * padded_value_;
  windows_at_ = g_at_ + shape.n_value_heads * kChunkRows;
  const std::size_t channels =
      2 * shape.n_key_heads * padded_key_ + shape.n_value_heads * padded_value_;
  memory_ = AlignedBuffer::Zeroed((windows_at_ + window_rows_ * channels) * sizeof(float));
}

std::size_t CpuDeltaNetState::size_bytes() const { return sizeof(Header) + memory_.size(); }

void CpuDeltaNetState::Truncate(std::size_t n) {
  LATTICE_CHECK(n <= n_tokens_ && (n == 0 || n >= n_tokens_ / kChunkRows * kChunkRows));
  n_tokens_ = n;
  if (n == 0) std::fill_n(floats(), n_floats(), 0.0f);
}

void CpuDeltaNetState::CopyFrom(const CpuDeltaNetState& other) {
  LATTICE_CHECK(shape_ == other.shape_);
  // Before the first fold a state is zero, and most of its memory is untouched.
  const bool zero = n_tokens_ < kChunkRows && other.n_tokens_ < kChunkRows;
  const std::size_t begin = zero ? chunk_keys_at_ * sizeof(float) : 0;
  std::memcpy(memory_.data() + begin, other.memory_.data() + begin, memory_.size() - begin);
  n_tokens_ = other.n_tokens_;
}

template <typename Seen>
void CpuDeltaNetState::ForRuns(std::size_t n, Seen seen) const {
  std::size_t at = 0;
  const auto run = [&](std::size_t used, std::size_t unused) {
    if (used > 0) seen(at, used, true);
    if (unused > 0) seen(at + used, unused, false);
    at += used + unused;
  };
  const std::size_t rows = n % kChunkRows, left = kChunkRows - rows;
  run(chunk_keys_at_, 0);
  for (std::size_t g = 0; g < shape_.n_key_heads; ++g) {
    for (std::size_t begin = 0; begin < kChunkRows; begin += kKeyColumns) {
      const std::size_t used = std::clamp(rows, begin, begin + kKeyColumns) - begin;
      for (std::size_t d = 0; d < shape_.key_dim; ++d) run(used, kKeyColumns - used);
    }
  }
  for (std::size_t h = 0; h < shape_.n_value_heads; ++h) {
    for (std::size_t p = 0; p < padded_value_; p += kDeltaPanel) {
      const std::size_t width = std::min(kDeltaPanel, padded_value_ - p);
      run(rows * width, left * width);
    }
  }
  for (std::size_t h = 0; h < shape_.n_value_heads; ++h) run(rows, left);
  const std::size_t window = shape_.conv_kernel - 1 + rows;
  for (std::size_t g = 0; g < 2 * shape_.n_key_heads; ++g) {
    run(window * padded_key_, left * padded_key_);
  }
  for (std::size_t h = 0; h < shape_.n_value_heads; ++h) {
    run(window * padded_value_, left * padded_value_);
  }
}

void CpuDeltaNetState::Read(std::span<std::byte> out) const {
  LATTICE_CHECK(out.size() == size_bytes());
  const Header header = HeaderOf(shape_, n_tokens_);
  std::memcpy(out.data(), header.data(), sizeof(header));
  const float* values = memory_.As<const float>().data();
  std::byte* to = out.data() + sizeof(header);
  ForRuns(n_tokens_, [&](std::size_t index, std::size_t count, bool used) {
    if (used) {
      std::memcpy(to + index * sizeof(float), values + index, count * sizeof(float));
    } else {
      std::memset(to + index * sizeof(float), 0, count * sizeof(float));
    }
  });
}

Status CpuDeltaNetState::Write(std::span<const std::byte> bytes) {
  if (bytes.size() != size_bytes()) {
    return Corrupt(std::to_string(bytes.size()) + " bytes instead of " +
                   std::to_string(size_bytes()));
  }
  Header header;
  std::memcpy(header.data(), bytes.data(), sizeof(header));
  const std::uint64_t n = header.back();
  if (n > std::numeric_limits<std::uint32_t>::max()) return Corrupt("absurd number of tokens");
  if (header != HeaderOf(shape_, n)) return Corrupt("of another shape or version");
  const std::byte* from = bytes.data() + sizeof(header);
  bool good = true;
  ForRuns(n, [&](std::size_t index, std::size_t count, bool used) {
    const bool decays = index >= g_at_ && index < windows_at_;
    // Before the first fold the state is zero; before the first row everything is.
    const bool zero = !used || n == 0 || (n < kChunkRows && index < chunk_keys_at_);
    for (std::size_t i = index; i < index + count && good; ++i) {
      float value;
      std::memcpy(&value, from + i * sizeof(float), sizeof(float));
      good = std::isfinite(value) && !(zero && value != 0) && !(decays && value > 0);
    }
  });
  if (!good) return Corrupt("numbers that no state has");
  std::memcpy(memory_.data(), from, memory_.size());
  n_tokens_ = n;
  return Ok();
}

}  // namespace lattice::kernels
