#include "apps/drift_input.h"

#include <cmath>
#include <utility>

#include "apps/text_input.h"
#include "base/json.h"
#include "vectors/npy.h"

namespace lattice::apps {
namespace {

constexpr std::size_t kMostTextBytes = std::size_t{1} << 30;

Result<VectorSet> ReadNpy(const std::string& name) {
  LATTICE_TRY(MappedFile file, MappedFile::Open(name));
  auto matrix = vectors::ParseNpy(file.bytes());
  if (!matrix) return std::move(matrix).error().Within(name);
  if (matrix->dtype != Dtype::kF32) {
    return Error{ErrorCode::kUnsupported, name +
                                              ": wanted f32; convert with NumPy: "
                                              "x.astype('<f4', order='C')"};
  }
  VectorSet set;
  set.dims = matrix->dims;
  set.values = {reinterpret_cast<const float*>(matrix->data.data()), matrix->n_rows * matrix->dims};
  set.file = std::move(file);
  return set;
}

}  // namespace

Result<VectorSet> ReadVectorSet(const std::string& file, bool is_npy, const EmbeddingFlags& flags,
                                const AppContext& context,
                                std::unique_ptr<EmbeddingService>& service) {
  if (is_npy || file.ends_with(".npy")) return ReadNpy(file);
  LATTICE_TRY(TextInput input, TextInput::Open({}, file));
  LATTICE_TRY(const std::vector<std::string> texts, input.All(kMostTextBytes));
  if (service == nullptr) {
    LATTICE_TRY(service, OpenService(flags, context));
  }
  EmbedRequest request;
  request.model = flags.model;
  request.stop = context.stop;
  LATTICE_TRY(Embeddings vectors, service->Embed(texts, request));
  VectorSet set;
  set.own = std::move(vectors.values);
  set.values = set.own;
  set.dims = vectors.dimensions;
  return set;
}

Result<std::vector<float>> ParseVectorLine(std::string_view line, const std::string& where) {
  auto value = ParseJson(line);
  if (!value) return std::move(value).error().Within(where);
  JsonView numbers(*value, where);
  if (numbers.IsObject()) {
    LATTICE_TRY(numbers, numbers.Get("embedding"));
  }
  LATTICE_TRY(const auto elements, numbers.Array());
  std::vector<float> out;
  out.reserve(elements.size());
  for (const JsonView& element : elements) {
    LATTICE_TRY(const double number, element.Number());
    out.push_back(static_cast<float>(number));
    if (!std::isfinite(out.back())) return element.Complain("too large for f32");
  }
  return out;
}

}  // namespace lattice::apps
