#include "models/config.h"

#include <algorithm>

namespace lattice::models {
namespace {

using kernels::Activation;

struct NamedActivation {
  std::string_view name;
  Activation activation;
};
constexpr NamedActivation kActivations[] = {
    {"gelu", Activation::kGeluErf},       {"gelu_new", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh}, {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"relu", Activation::kRelu},          {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},         {"tanh", Activation::kTanh},
};

template <typename Items, typename Name>
std::string Join(const Items& items, Name name) {
  std::string list;
  for (const auto& item : items) {
    if (!list.empty()) list += ", ";
    list += name(item);
  }
  return list;
}

Result<Activation> ActivationOf(const JsonView& value) {
  LATTICE_TRY(const std::string_view text, value.String());
  for (const auto& [name, activation] : kActivations) {
    if (name == text) return activation;
  }
  return Error{ErrorCode::kUnsupported,
               value.where() + ": unknown activation '" + std::string(text) + "'; known: " +
                   Join(kActivations, [](const auto& a) { return std::string(a.name); })};
}

Result<std::size_t> SizeOf(const JsonView& value, std::size_t max) {
  LATTICE_TRY(const std::int64_t number, value.Int(1, static_cast<std::int64_t>(max)));
  return static_cast<std::size_t>(number);
}

}  // namespace

Error WrongAt(const JsonView& place, std::string_view what) {
  const std::string& where = place.where();
  return {ErrorCode::kCorruptData, where + (where.ends_with(": ") ? "" : ": ") + std::string(what)};
}

Result<std::size_t> ReadSize(const JsonView& config, std::string_view key, std::size_t max) {
  LATTICE_TRY(const JsonView value, config.Get(key));
  return SizeOf(value, max);
}

Result<std::size_t> ReadSizeOr(const JsonView& config, std::string_view key, std::size_t fallback,
                               std::size_t max) {
  const auto value = config.Find(key);
  return value ? SizeOf(*value, max) : Result<std::size_t>(fallback);
}

Result<float> ReadEpsilon(const JsonView& config, std::string_view key) {
  LATTICE_TRY(const JsonView value, config.Get(key));
  LATTICE_TRY(const double epsilon, value.Number());
  const auto narrow = static_cast<float>(epsilon);
  if (!(narrow > 0.0f && narrow < 1.0f)) {
    return Error{
        ErrorCode::kCorruptData,
        value.where() + ": expected a number between 0 and 1, found " + std::to_string(epsilon)};
  }
  return narrow;
}

Result<Activation> ReadActivation(const JsonView& config, std::string_view key) {
  LATTICE_TRY(const JsonView value, config.Get(key));
  return ActivationOf(value);
}

Result<Activation> ReadActivationOr(const JsonView& config, std::string_view key,
                                    Activation fallback) {
  const auto value = config.Find(key);
  return value ? ActivationOf(*value) : Result<Activation>(fallback);
}

std::vector<std::string> UnreadParts(const JsonView& config) {
  std::vector<std::string> parts;
  for (const char* part : {"vision", "audio"}) {
    if (config.Find(std::string(part) + "_config")) parts.emplace_back(part);
  }
  return parts;
}

Status RefuseFlag(const JsonView& config, std::string_view key) {
  const auto value = config.Find(key);
  if (!value) return Ok();
  LATTICE_TRY(const bool flag, value->Bool());
  if (!flag) return Ok();
  return Error{ErrorCode::kUnsupported, value->where() + ": true is not supported for this family"};
}

Status RefuseQuantised(const JsonView& config) {
  const auto quantised = config.Find("quantization_config");
  if (!quantised) return Ok();
  LATTICE_TRY(const std::string method, quantised->StringOr("quant_method", "unnamed"));
  return Error{ErrorCode::kUnsupported,
               quantised->where() + ": quantisation method '" + method + "' is not supported"};
}

Result<std::size_t> HeadDim(const JsonView& config, std::size_t hidden, std::size_t n_heads) {
  const std::size_t head_dim = hidden / n_heads;
  if (hidden % n_heads == 0 && head_dim % 2 == 0 && head_dim <= kMaxHeadDim) return head_dim;
  LATTICE_TRY(const JsonView place, config.Get("num_attention_heads"));
  return Error{ErrorCode::kCorruptData, place.where() + ": hidden_size " + std::to_string(hidden) +
                                            " does not divide into " + std::to_string(n_heads) +
                                            " heads of an even size of at most " +
                                            std::to_string(kMaxHeadDim)};
}

Result<std::string> ReadArchitecture(const JsonView& config,
                                     std::span<const std::string_view> known) {
  const auto list = config.Find("architectures");
  if (!list) return std::string();
  LATTICE_TRY(const std::vector<JsonView> names, list->Array());
  if (names.empty()) return std::string();
  LATTICE_TRY(const std::string_view name, names[0].String());
  if (std::ranges::find(known, name) != known.end()) return std::string(name);
  return Error{ErrorCode::kUnsupported,
               names[0].where() + ": unknown class '" + std::string(name) +
                   "'; known: " + Join(known, [](std::string_view k) { return std::string(k); })};
}

Result<std::size_t> CountLabels(const JsonView& config) {
  const auto labels = config.Find("id2label");
  if (!labels) return ReadSizeOr(config, "num_labels", 2, kMaxLabels);
  if (!labels->IsObject()) return labels->Complain("expected an object");
  const std::size_t n = labels->value().get_object().size();
  if (n >= 1 && n <= kMaxLabels) return n;
  return Error{ErrorCode::kCorruptData, labels->where() + ": " + std::to_string(n) +
                                            " labels are outside 1 to " +
                                            std::to_string(kMaxLabels)};
}

Result<std::vector<bool>> ReadSlidingLayers(const JsonView& layer_types, std::size_t n_layers) {
  LATTICE_TRY(const std::vector<JsonView> types, layer_types.Array());
  if (types.size() != n_layers) {
    return Error{ErrorCode::kCorruptData, layer_types.where() + ": " +
                                              std::to_string(types.size()) + " entries for " +
                                              std::to_string(n_layers) + " num_hidden_layers"};
  }
  std::vector<bool> sliding;
  sliding.reserve(n_layers);
  for (const JsonView& type : types) {
    LATTICE_TRY(const std::string_view name, type.String());
    if (name != "sliding_attention" && name != "full_attention") {
      return Error{ErrorCode::kUnsupported, type.where() + ": unknown layer type '" +
                                                std::string(name) +
                                                "'; known: full_attention, sliding_attention"};
    }
    sliding.push_back(name == "sliding_attention");
  }
  return sliding;
}

}  // namespace lattice::models
