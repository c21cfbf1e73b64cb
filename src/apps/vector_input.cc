#include "apps/vector_input.h"

#include <cmath>
#include <utility>

#include "apps/text_input.h"
#include "base/files.h"
#include "base/json.h"

namespace lattice::apps {
namespace {

constexpr std::size_t kMostTextBytes = std::size_t{1} << 30;
constexpr std::size_t kMostJsonBytes = std::size_t{4} << 30;

Result<VectorSet> ReadNpy(const std::string& name) {
  LATTICE_TRY(const NpyRows rows, NpyRows::Open(name));
  VectorSet set;
  set.dims = rows.dims();
  set.values = rows.values();
  set.file = rows;
  return set;
}

struct VectorLine {
  std::vector<float> values;
  std::optional<std::string> text;
};

Result<VectorLine> ReadVectorLine(std::string_view line, const std::string& where) {
  auto value = ParseJson(line);
  if (!value) return std::move(value).error().Within(where);
  JsonView numbers(*value, where);
  VectorLine out;
  if (numbers.IsObject()) {
    if (const auto text = numbers.Find("text")) {
      LATTICE_TRY(const auto content, text->String());
      out.text = std::string(content);
    }
    LATTICE_TRY(numbers, numbers.Get("embedding"));
  }
  LATTICE_TRY(const auto elements, numbers.Array());
  out.values.reserve(elements.size());
  for (const JsonView& element : elements) {
    LATTICE_TRY(const double number, element.Number());
    out.values.push_back(static_cast<float>(number));
    if (!std::isfinite(out.values.back())) return element.Complain("too large for f32");
  }
  return out;
}

}  // namespace

Result<VectorSet> EmbedTexts(EmbeddingService& service, const EmbeddingFlags& flags,
                             std::span<const std::string> texts, Role role,
                             const AppContext& context) {
  EmbedRequest request;
  request.model = flags.model;
  request.role = role;
  request.stop = context.stop;
  LATTICE_TRY(Embeddings vectors, service.Embed(texts, request));
  VectorSet set;
  set.own = std::move(vectors.values);
  set.values = set.own;
  set.dims = vectors.dimensions;
  return set;
}

Result<VectorSet> ReadVectorSet(const std::string& file, bool is_npy, const EmbeddingFlags& flags,
                                const AppContext& context,
                                std::unique_ptr<EmbeddingService>& service) {
  if (is_npy || file.ends_with(".npy")) return ReadNpy(file);
  LATTICE_TRY(TextInput input, TextInput::Open({}, file));
  LATTICE_TRY(const std::vector<std::string> texts, input.All(kMostTextBytes));
  if (service == nullptr) {
    LATTICE_TRY(service, OpenService(flags, context));
  }
  return EmbedTexts(*service, flags, texts, EmbedRequest().role, context);
}

Result<VectorSet> ReadStoredVectors(const std::string& file) {
  if (file.ends_with(".npy")) {
    LATTICE_TRY(VectorSet set, ReadNpy(file));
    if (set.size() == 0) return Error{ErrorCode::kCorruptData, file + ": no vectors"};
    return set;
  }
  LATTICE_TRY(const std::string content, ReadFile(file, kMostJsonBytes));
  VectorSet set;
  std::string_view rest = content;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const auto end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const std::string where = file + ": line " + std::to_string(number);
    LATTICE_TRY(const VectorLine row, ReadVectorLine(line, where));
    if (row.values.empty() || (set.dims != 0 && row.values.size() != set.dims)) {
      return Error{ErrorCode::kCorruptData,
                   where + ": a vector of " + std::to_string(row.values.size()) + " dimensions"};
    }
    set.dims = row.values.size();
    set.own.insert(set.own.end(), row.values.begin(), row.values.end());
    if (row.text) set.texts.push_back(*row.text);
  }
  if (set.dims == 0) return Error{ErrorCode::kCorruptData, file + ": no vectors"};
  set.values = set.own;
  if (set.texts.size() != set.size()) set.texts.clear();
  return set;
}

Result<std::vector<float>> ParseVectorLine(std::string_view line, const std::string& where) {
  LATTICE_TRY(VectorLine read, ReadVectorLine(line, where));
  return std::move(read.values);
}

}  // namespace lattice::apps
