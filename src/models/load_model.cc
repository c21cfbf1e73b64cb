#include <string>

#include "base/files.h"
#include "models/families.h"

namespace lattice::models {
namespace {

constexpr std::size_t kMaxConfigBytes = std::size_t{16} << 20;

constexpr Family kFamilies[] = {
    {"bert", DescribeBert, LoadBert},
    {"roberta", DescribeBert, LoadBert},
    {"xlm-roberta", DescribeBert, LoadBert},
    {"camembert", DescribeBert, LoadBert},
    {"modernbert", DescribeModernBert, LoadModernBert},
    {"qwen3", DescribeDecoder, LoadDecoder},
    {"gemma3_text", DescribeDecoder, LoadDecoder},
    {"gemma3", DescribeDecoder, LoadDecoder},
};

}  // namespace

std::span<const Family> Families() { return kFamilies; }

Result<const Family*> FindFamily(const JsonView& config) {
  LATTICE_TRY(const JsonView type, config.Get("model_type"));
  LATTICE_TRY(const std::string_view name, type.String());
  std::string known;
  for (const Family& family : kFamilies) {
    if (family.model_type == name) return &family;
    known += (known.empty() ? "" : ", ") + std::string(family.model_type);
  }
  return Error{ErrorCode::kUnsupported, type.where() + ": unknown architecture '" +
                                            std::string(name) + "'; known: " + known};
}

Result<std::shared_ptr<const Model>> LoadModel(const std::filesystem::path& folder,
                                               kernels::Backend& backend,
                                               kernels::Precision precision) {
  const std::filesystem::path file = folder / "config.json";
  LATTICE_TRY(const std::string text, ReadFile(file, kMaxConfigBytes));
  auto json = ParseJson(text);
  if (!json) return std::move(json).error().Within(file.string());
  const JsonView config(*json, file.string() + ": ");
  LATTICE_TRY(const Family* family, FindFamily(config));
  // The sizes first: a config that cannot be right should say so before the weights' complaints.
  LATTICE_TRY_VOID(family->describe(config));
  LATTICE_TRY(auto checkpoint, weights::Checkpoint::Open(folder));
  auto model = family->load({config, std::move(checkpoint), &backend, precision});
  if (!model) return std::move(model).error().Within(folder.string());
  return model;
}

}  // namespace lattice::models
