#include "apps/generation_flags.h"

#include "apps/named_values.h"
#include "apps/number_flags.h"
#include "apps/weight_types.h"

namespace lattice::apps {
namespace {

using PrecisionChoice = std::optional<kernels::Precision>;
constexpr Named<PrecisionChoice> kPrecisions[] = {{"auto", std::nullopt},
                                                  {"f32", kernels::Precision::kF32},
                                                  {"bf16", kernels::Precision::kBf16},
                                                  {"int8", kernels::Precision::kInt8},
                                                  {"int16", kernels::Precision::kInt16}};
constexpr Named<kernels::KvType> kKvTypes[] = {
    {"f32", kernels::KvType::kF32}, {"f16", kernels::KvType::kF16}, {"q8", kernels::KvType::kQ8}};

}  // namespace

void DeclareWeightType(CLI::App& arguments, std::string& type) {
  arguments
      .add_option("--weights", type,
                  "Quantise float weights to this while loading (as they are stored)")
      ->type_name("TYPE")
      ->check(CLI::IsMember(TypeTexts(BlockWeightTypes())));
}

void DeclareKvType(CLI::App& arguments, std::string& type) {
  arguments.add_option("--kv-type", type, "How attention keeps keys and values")
      ->check(CLI::IsMember(NamesOf(kKvTypes)))
      ->capture_default_str();
}

std::vector<std::string> ComputePrecisionNames() { return NamesOf(kPrecisions); }

Result<std::optional<kernels::Precision>> ParseComputePrecision(std::string_view name) {
  return FindNamed(kPrecisions, "precision", name);
}

Result<kernels::KvType> ParseKvType(std::string_view name) {
  return FindNamed(kKvTypes, "type of keys and values", name);
}

Result<std::optional<Dtype>> ParseWeightType(std::string_view name) {
  if (name.empty()) return std::optional<Dtype>();
  if (const std::optional<Dtype> type = FindType(BlockWeightTypes(), name)) return type;
  return Error{ErrorCode::kInvalidArgument, "unknown weight type '" + std::string(name) + "'"};
}

void DeclareTextModelFlags(CLI::App& arguments, TextModelFlags& flags) {
  arguments
      .add_option("-m,--model", flags.model,
                  "Folder, .gguf file, known name or OWNER/NAME (smollm2-135m-instruct)")
      ->type_name("MODEL");
  DeclareLoadingFlags(arguments, flags);
}

void DeclareLoadingFlags(CLI::App& arguments, TextModelFlags& flags) {
  arguments
      .add_option("--precision", flags.precision,
                  "Arithmetic: f32 (exact), int16, bf16, int8; auto: int8 where the stored weights "
                  "allow it, int16 in small models")
      ->check(CLI::IsMember(ComputePrecisionNames()))
      ->capture_default_str();
  DeclareKvType(arguments, flags.kv_type);
  AddCount(arguments, "-c,--context", flags.context,
           "Tokens of the context (what the model reads and the memory holds)", {1});
  AddThreads(arguments, flags.threads);
  DeclareWeightType(arguments, flags.weights);
  arguments
      .add_option("--weight-cache", flags.weight_cache,
                  "Keep packed weights for the next start: auto (where there is room), off")
      ->check(CLI::IsMember({"auto", "off"}));
}

}  // namespace lattice::apps
