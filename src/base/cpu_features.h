#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lattice/result.h"

namespace lattice {

/// One bit per instruction-set extension that some kernel needs.
enum class CpuFeature : std::uint32_t {
  kAvx2 = 1u << 0,  // with FMA and F16C
  kAvxVnni = 1u << 1,
  kAvx512 = 1u << 2,  // F, BW, VL and DQ
  kAvx512Vnni = 1u << 3,
  kAvx512Bf16 = 1u << 4,
  kAmxInt8 = 1u << 5,  // with tile state granted by the operating system
  kAmxBf16 = 1u << 6,
  kAvx512Vpopcntdq = 1u << 7,
  kNeon = 1u << 8,
  kNeonDotprod = 1u << 9,
  kNeonI8mm = 1u << 10,
  kNeonBf16 = 1u << 11,
};

/// A set of features: what a kernel needs, or what a processor has.
class CpuFeatures {
 public:
  constexpr CpuFeatures() = default;
  constexpr CpuFeatures(CpuFeature f) : bits_(static_cast<std::uint32_t>(f)) {}  // NOLINT: implicit

  /// What the running processor and operating system support. Asks the kernel for AMX tile state,
  /// a permission that then holds for the whole process. Reads the hardware on each call: keep the
  /// result in the engine's options rather than in a global.
  static CpuFeatures Detect();

  /// The features of the row called `name` ("scalar", "avx2", "avxvnni", "avx512", "avx512vnni",
  /// "avx512vpopcntdq", "avx512bf16", "amx", "neon", "neon_dotprod", "neon_i8mm", "neon_bf16"), cut
  /// to what this processor has. kInvalidArgument when the name is unknown, kUnsupported when the
  /// processor lacks the row.
  static Result<CpuFeatures> Named(std::string_view name);

  constexpr bool Has(CpuFeatures needed) const { return (bits_ & needed.bits_) == needed.bits_; }
  friend constexpr CpuFeatures operator|(CpuFeatures a, CpuFeatures b) {
    CpuFeatures r;
    r.bits_ = a.bits_ | b.bits_;
    return r;
  }
  friend constexpr bool operator==(CpuFeatures a, CpuFeatures b) { return a.bits_ == b.bits_; }

  /// "avx2 avx512 avx512vnni", for people.
  std::string ToString() const;

 private:
  std::uint32_t bits_ = 0;
};

}  // namespace lattice
