#include "apps/weight_types.h"

namespace lattice::apps {

std::span<const Dtype> BlockWeightTypes() {
  static constexpr Dtype kTypes[] = {Dtype::kQ4_0, Dtype::kQ4_1, Dtype::kQ5_0, Dtype::kQ5_1,
                                     Dtype::kQ8_0, Dtype::kQ4K,  Dtype::kQ5K,  Dtype::kQ6K};
  return kTypes;
}

std::span<const Dtype> FileWeightTypes() {
  static constexpr Dtype kTypes[] = {Dtype::kQ8_0, Dtype::kQ4_0, Dtype::kQ4_1, Dtype::kQ5_0,
                                     Dtype::kQ5_1, Dtype::kQ4K,  Dtype::kQ5K,  Dtype::kQ6K,
                                     Dtype::kF16,  Dtype::kBf16, Dtype::kF32};
  return kTypes;
}

std::string TypeText(Dtype dtype) {
  std::string text(DtypeName(dtype));
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

std::vector<std::string> TypeTexts(std::span<const Dtype> types) {
  std::vector<std::string> texts;
  for (const Dtype dtype : types) texts.push_back(TypeText(dtype));
  return texts;
}

std::optional<Dtype> FindType(std::span<const Dtype> types, std::string_view text) {
  for (const Dtype dtype : types) {
    if (TypeText(dtype) == text) return dtype;
  }
  return std::nullopt;
}

}  // namespace lattice::apps
