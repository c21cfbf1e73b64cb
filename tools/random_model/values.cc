#include "values.h"

#include <algorithm>
#include <vector>

#include "numeric/narrow.h"

namespace lattice::random_model {
namespace {

/// Numbers of about normal distribution from a 64-bit counter (splitmix64, sum of four uniforms).
class Random {
 public:
  Random(std::uint64_t seed, std::string_view name) : state_(seed) {
    for (const char c : name) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  }
  float Next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    std::int64_t sum = -2 * 65535;
    for (int i = 0; i < 64; i += 16) sum += static_cast<std::int64_t>(z >> i & 0xFFFF);
    return static_cast<float>(sum) * (1.7320508f / 65536.0f);
  }

 private:
  std::uint64_t state_;
};

}  // namespace

Status MakeValues(const TensorPlan& tensor, Dtype dtype, std::uint64_t seed,
                  FunctionRef<Status(std::span<const std::byte>)> take) {
  Random random(seed, tensor.name);
  std::size_t left = 1;
  for (const std::size_t n : tensor.shape) left *= n;
  std::vector<float> wide(std::min<std::size_t>(left, 1 << 16));
  std::vector<std::byte> stored;
  while (left > 0) {
    const std::span<float> values = std::span(wide).first(std::min(left, wide.size()));
    for (float& v : values) v = tensor.centre + tensor.spread * random.Next();
    stored.resize(StorageBytes(dtype, values.size()));
    NarrowFromF32(dtype, values, stored);
    LATTICE_TRY_VOID(take(stored));
    left -= values.size();
  }
  return Ok();
}

}  // namespace lattice::random_model
