#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "numeric/dtype.h"

namespace lattice::apps {

/// Block formats that weights can be quantised to, as flags list them.
std::span<const Dtype> BlockWeightTypes();
/// The same, and the float types that `lattice quantize` writes.
std::span<const Dtype> FileWeightTypes();

/// "Q4_K" -> "q4_k".
std::string TypeText(Dtype dtype);
std::vector<std::string> TypeTexts(std::span<const Dtype> types);
/// The one of `types` whose TypeText is `text`.
std::optional<Dtype> FindType(std::span<const Dtype> types, std::string_view text);

}  // namespace lattice::apps
