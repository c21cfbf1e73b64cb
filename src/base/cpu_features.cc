#include "base/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace lattice {
namespace {

struct Row {
  std::string_view name;
  CpuFeatures adds;      // what the row brings
  CpuFeatures includes;  // everything a processor of that row has
};

constexpr CpuFeatures kAvx2 = CpuFeature::kAvx2;
constexpr CpuFeatures kAvx512 = kAvx2 | CpuFeature::kAvx512;
constexpr CpuFeatures kAvx512Vnni = kAvx512 | CpuFeature::kAvx512Vnni;
constexpr CpuFeatures kAvx512Bf16 = kAvx512Vnni | CpuFeature::kAvx512Bf16;
constexpr CpuFeatures kNeon = CpuFeature::kNeon;
constexpr CpuFeatures kNeonDotprod = kNeon | CpuFeature::kNeonDotprod;

constexpr Row kRows[] = {
    {"scalar", {}, {}},
    {"avx2", CpuFeature::kAvx2, kAvx2},
    {"avxvnni", CpuFeature::kAvxVnni, kAvx2 | CpuFeature::kAvxVnni},
    {"avx512", CpuFeature::kAvx512, kAvx512},
    {"avx512vnni", CpuFeature::kAvx512Vnni, kAvx512Vnni},
    {"avx512vpopcntdq", CpuFeature::kAvx512Vpopcntdq, kAvx512Vnni | CpuFeature::kAvx512Vpopcntdq},
    {"avx512bf16", CpuFeature::kAvx512Bf16, kAvx512Bf16},
    {"amx", CpuFeatures(CpuFeature::kAmxInt8) | CpuFeature::kAmxBf16,
     kAvx512Bf16 | CpuFeature::kAmxInt8 | CpuFeature::kAmxBf16},
    {"neon", CpuFeature::kNeon, kNeon},
    {"neon_dotprod", CpuFeature::kNeonDotprod, kNeonDotprod},
    {"neon_i8mm", CpuFeature::kNeonI8mm, kNeonDotprod | CpuFeature::kNeonI8mm},
    {"neon_bf16", CpuFeature::kNeonBf16, kNeonDotprod | CpuFeature::kNeonBf16},
};

#if defined(__x86_64__)
// Linux lets a process use the 8 KiB of tile state only after it asks, once.
bool TileStateGranted() {
  constexpr int kArchReqXcompPerm = 0x1023;
  constexpr int kXfeatureXtiledata = 18;
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureXtiledata) == 0;
}
#endif

}  // namespace

CpuFeatures CpuFeatures::Detect() {
  CpuFeatures found;
#if defined(__x86_64__)
  // The builtin also checks, with XGETBV, that the operating system saves the wide registers.
  __builtin_cpu_init();
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & (1u << 29)) != 0;
  if (!f16c || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return found;
  found = found | CpuFeature::kAvx2;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  if (avx512) {
    found = found | CpuFeature::kAvx512;
    if (__builtin_cpu_supports("avx512vnni")) found = found | CpuFeature::kAvx512Vnni;
    if (__builtin_cpu_supports("avx512vpopcntdq")) found = found | CpuFeature::kAvx512Vpopcntdq;
    if (__builtin_cpu_supports("avx512bf16")) found = found | CpuFeature::kAvx512Bf16;
  }
  // g++ 12 has no builtin names for these.
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & (1u << 4))) {
    found = found | CpuFeature::kAvxVnni;
  }
  if (avx512 && __get_cpuid_count(7, 0, &a, &b, &c, &d)) {
    const bool tile = (d & (1u << 24)) != 0;
    const bool int8 = (d & (1u << 25)) != 0;
    const bool bf16 = (d & (1u << 22)) != 0;
    if (tile && (int8 || bf16) && TileStateGranted()) {
      if (int8) found = found | CpuFeature::kAmxInt8;
      if (bf16) found = found | CpuFeature::kAmxBf16;
    }
  }
#elif defined(__aarch64__)
  found = found | CpuFeature::kNeon;
#if defined(__linux__)
  if (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) found = found | CpuFeature::kNeonDotprod;
  if (getauxval(AT_HWCAP2) & HWCAP2_I8MM) found = found | CpuFeature::kNeonI8mm;
  if (getauxval(AT_HWCAP2) & HWCAP2_BF16) found = found | CpuFeature::kNeonBf16;
#endif
#endif
  return found;
}

Result<CpuFeatures> CpuFeatures::Named(std::string_view name) {
  std::string known;
  for (const Row& row : kRows) {
    if (row.name == name) {
      const CpuFeatures here = Detect();
      if (!here.Has(row.includes)) {
        return Error{ErrorCode::kUnsupported, "this processor lacks '" + std::string(name) +
                                                  "'; it has: " + here.ToString()};
      }
      return row.includes;
    }
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  return Error{ErrorCode::kInvalidArgument,
               "unknown instruction set '" + std::string(name) + "'; known: " + known};
}

std::string CpuFeatures::ToString() const {
  std::string text;
  for (const Row& row : kRows) {
    if (row.adds == CpuFeatures() || !Has(row.adds)) continue;
    text += (text.empty() ? "" : " ") + std::string(row.name);
  }
  return text.empty() ? "scalar" : text;
}

}  // namespace lattice
