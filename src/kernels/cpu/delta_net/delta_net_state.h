#pragma once

#include <cstddef>
#include <span>

#include "base/aligned_buffer.h"
#include "kernels/api/state.h"
#include "kernels/cpu/delta_net/variants.h"
#include "lattice/result.h"

namespace lattice::kernels {

/// See DeltaNetState. The state proper stands at the last multiple of kChunkRows; the chunk's rows
/// so far lie beside it, so that truncation to any of them only counts. Layouts: variants.h.
class CpuDeltaNetState : public DeltaNetState {
 public:
  explicit CpuDeltaNetState(const DeltaNetShape& shape);

  const DeltaNetShape& shape() const override { return shape_; }
  std::size_t n_tokens() const override { return n_tokens_; }
  std::size_t size_bytes() const override;

  void Advance(std::size_t n) { n_tokens_ += n; }
  void Truncate(std::size_t n);
  void CopyFrom(const CpuDeltaNetState& other);
  void Read(std::span<std::byte> out) const;
  Status Write(std::span<const std::byte> bytes);

  std::size_t padded_key() const { return padded_key_; }
  std::size_t padded_value() const { return padded_value_; }
  // Of key head g or value head h.
  float* state(std::size_t h) { return floats() + h * shape_.key_dim * padded_value_; }
  float* chunk_keys(std::size_t g) {
    return floats() + chunk_keys_at_ + g * shape_.key_dim * kChunkRows;
  }
  float* u(std::size_t h) { return floats() + u_at_ + h * kChunkRows * padded_value_; }
  float* g(std::size_t h) { return floats() + g_at_ + h * kChunkRows; }
  float* query_window(std::size_t g) {
    return floats() + windows_at_ + g * window_rows_ * padded_key_;
  }
  float* key_window(std::size_t g) { return query_window(shape_.n_key_heads + g); }
  float* value_window(std::size_t h) {
    return query_window(2 * shape_.n_key_heads) + h * window_rows_ * padded_value_;
  }

 private:
  float* floats() { return memory_.As<float>().data(); }
  std::size_t n_floats() const { return memory_.size() / sizeof(float); }
  /// Calls seen(index, count, used) for the runs of floats in rising order that make up a state
  /// of n tokens; runs that are not used are zero in a saved state.
  template <typename Seen>
  void ForRuns(std::size_t n, Seen seen) const;

  DeltaNetShape shape_;
  std::size_t padded_key_, padded_value_, window_rows_;
  std::size_t chunk_keys_at_, u_at_, g_at_, windows_at_;
  AlignedBuffer memory_;
  std::size_t n_tokens_ = 0;
};

inline CpuDeltaNetState& AsCpu(DeltaNetState& state) {
  return static_cast<CpuDeltaNetState&>(state);
}
inline const CpuDeltaNetState& AsCpu(const DeltaNetState& state) {
  return static_cast<const CpuDeltaNetState&>(state);
}

}  // namespace lattice::kernels
