#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/backend.h"
#include "lattice/result.h"
#include "numeric/dtype.h"

namespace lattice::apps {

/// Flags of every command that runs a generator.
struct TextModelFlags {
  std::string model;
  std::string precision = "auto";
  std::string kv_type = "f16";
  std::size_t context = 0;  ///< Tokens; 0: what the model allows and the memory holds.
  std::size_t threads = 0;
  std::string weights;       ///< A block format; empty: as they are stored.
  std::string weight_cache;  ///< "auto" or "off"; empty: as the environment says.
};

/// Adds --model, --precision, --kv-type, --context, --threads, --weights and
/// --weight-cache.
void DeclareTextModelFlags(CLI::App& arguments, TextModelFlags& flags);

/// The same without --model.
void DeclareLoadingFlags(CLI::App& arguments, TextModelFlags& flags);

/// Adds --weights, or --kv-type, alone.
void DeclareWeightType(CLI::App& arguments, std::string& type);
void DeclareKvType(CLI::App& arguments, std::string& type);

/// The words of --precision; "auto" is absent.
std::vector<std::string> ComputePrecisionNames();
Result<std::optional<kernels::Precision>> ParseComputePrecision(std::string_view name);
Result<kernels::KvType> ParseKvType(std::string_view name);
/// A block format to quantise to; "" is absent.
Result<std::optional<Dtype>> ParseWeightType(std::string_view name);

}  // namespace lattice::apps
