// Parsers of the single files of a sentence-transformers folder.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/json.h"
#include "embed/pipeline_config.h"

namespace lattice::embed {
namespace {

constexpr std::size_t kMaxModules = 32;
constexpr std::int64_t kMaxWidth = 1 << 20;

struct PoolingName {
  std::string_view name;     // newer files: "pooling_mode": name
  std::string_view boolean;  // older files: one boolean each, concatenated in this order
  Pooling mode;
};
constexpr std::array kPoolings = {
    PoolingName{"cls", "pooling_mode_cls_token", Pooling::kCls},
    PoolingName{"max", "pooling_mode_max_tokens", Pooling::kMax},
    PoolingName{"mean", "pooling_mode_mean_tokens", Pooling::kMean},
    PoolingName{"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens",
                Pooling::kMeanSqrtLength},
    PoolingName{"weightedmean", "pooling_mode_weightedmean_tokens", Pooling::kWeightedMean},
    PoolingName{"lasttoken", "pooling_mode_lasttoken", Pooling::kLast},
};

constexpr std::string_view kModuleKinds[] = {"Transformer", "Pooling", "Dense", "Normalize",
                                             "LogitScore"};
constexpr std::string_view kSimilarities[] = {"cosine", "dot", "euclidean", "manhattan"};

struct ActivationName {
  std::string_view name;  // last part of a torch path
  kernels::Activation activation;
};
constexpr std::array kActivations = {
    ActivationName{"Tanh", kernels::Activation::kTanh},
    ActivationName{"Identity", kernels::Activation::kNone},
    ActivationName{"ReLU", kernels::Activation::kRelu},
    ActivationName{"GELU", kernels::Activation::kGeluErf},
    ActivationName{"SiLU", kernels::Activation::kSilu},
};

// Names of a table for a message: "a, b, c".
template <typename Table, typename Name>
std::string Listed(const Table& table, Name name_of) {
  std::string list;
  for (const auto& row : table) {
    if (!list.empty()) list += ", ";
    list += name_of(row);
  }
  return list;
}

Error Unknown(const JsonView& at, std::string_view what, std::string_view name,
              const std::string& known) {
  // A hostile name must not become a hostile message.
  const std::string shown(name.substr(0, 100));
  return Error{ErrorCode::kUnsupported,
               at.where() + ": unknown " + std::string(what) + " '" + shown + "'; known: " + known};
}

std::string_view LastPart(std::string_view dotted) {
  return dotted.substr(dotted.rfind('.') + 1);  // npos + 1 = 0: the whole name
}

Result<boost::json::value> Parse(std::string_view text, const std::string& where) {
  auto parsed = ParseJson(text);
  if (!parsed) return std::move(parsed).error().Within(where);
  return parsed;
}

// A path inside the model's folder: no root, no "..".
Result<std::string> InnerPath(const JsonView& module) {
  LATTICE_TRY(std::string path, module.StringOr("path", ""));
  const std::filesystem::path parsed(path);
  const bool inside = !parsed.has_root_path() && path.find('\0') == std::string::npos &&
                      std::find(parsed.begin(), parsed.end(), "..") == parsed.end();
  if (!inside) {
    return Error{ErrorCode::kCorruptData,
                 module.where() + ".path: must lie inside the model's folder"};
  }
  return path;
}

Result<Pooling> PoolingByName(const JsonView& at) {
  LATTICE_TRY(const std::string_view name, at.String());
  const auto row = std::find_if(kPoolings.begin(), kPoolings.end(),
                                [&](const PoolingName& p) { return p.name == name; });
  if (row != kPoolings.end()) return row->mode;
  return Unknown(at, "pooling", name,
                 Listed(kPoolings, [](const PoolingName& p) { return p.name; }));
}

// The older form: booleans. None true: mean.
Result<std::vector<Pooling>> PoolingByBooleans(const JsonView& root) {
  for (const auto& member : root.value().get_object()) {
    const std::string_view key(member.key().data(), member.key().size());
    if (!key.starts_with("pooling_mode_")) continue;
    const bool known = std::any_of(kPoolings.begin(), kPoolings.end(),
                                   [&](const PoolingName& p) { return p.boolean == key; });
    const auto found = root.Find(key);
    if (known || !found) continue;
    LATTICE_TRY(const bool on, found->Bool());
    if (!on) continue;
    return Unknown(root, "pooling", key,
                   Listed(kPoolings, [](const PoolingName& p) { return p.boolean; }));
  }
  std::vector<Pooling> modes;
  for (const PoolingName& pooling : kPoolings) {
    LATTICE_TRY(const bool on, root.BoolOr(pooling.boolean, false));
    if (on) modes.push_back(pooling.mode);
  }
  if (modes.empty()) modes.push_back(Pooling::kMean);
  return modes;
}

Result<std::vector<Pooling>> PoolingByMode(const JsonView& mode) {
  std::vector<Pooling> modes;
  if (!mode.IsArray()) {
    LATTICE_TRY(const Pooling single, PoolingByName(mode));
    modes.push_back(single);
    return modes;
  }
  LATTICE_TRY(const std::vector<JsonView> items, mode.Array());
  if (items.empty() || items.size() > kPoolings.size()) {
    return Error{ErrorCode::kCorruptData, mode.where() + ": has " + std::to_string(items.size()) +
                                              " entries, expected 1 to " +
                                              std::to_string(kPoolings.size())};
  }
  for (const JsonView& item : items) {
    LATTICE_TRY(const Pooling one, PoolingByName(item));
    modes.push_back(one);
  }
  return modes;
}

}  // namespace

Result<std::vector<ModuleEntry>> ParseModules(std::string_view text, const std::string& where) {
  LATTICE_TRY(const boost::json::value document, Parse(text, where));
  LATTICE_TRY(const std::vector<JsonView> items, JsonView(document, where + ": ").Array());
  if (items.empty() || items.size() > kMaxModules) {
    return Error{ErrorCode::kCorruptData, where + ": " + std::to_string(items.size()) +
                                              " modules, expected 1 to " +
                                              std::to_string(kMaxModules)};
  }
  std::vector<std::pair<std::int64_t, ModuleEntry>> indexed;
  for (const JsonView& item : items) {
    LATTICE_TRY(const JsonView type, item.Get("type"));
    LATTICE_TRY(const std::string_view dotted, type.String());
    LATTICE_TRY(const JsonView idx, item.Get("idx"));
    LATTICE_TRY(const std::int64_t index, idx.Int(0, 1000));
    const std::string_view kind = LastPart(dotted);
    if (std::find(std::begin(kModuleKinds), std::end(kModuleKinds), kind) ==
        std::end(kModuleKinds)) {
      return Unknown(type, "module", dotted,
                     Listed(kModuleKinds, [](std::string_view name) { return name; }));
    }
    LATTICE_TRY(std::string path, InnerPath(item));
    indexed.emplace_back(index, ModuleEntry{std::string(kind), std::move(path)});
  }
  std::stable_sort(indexed.begin(), indexed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<ModuleEntry> modules;
  for (auto& [index, entry] : indexed) modules.push_back(std::move(entry));
  return modules;
}

Result<PoolingSpec> ParsePooling(std::string_view text, const std::string& where) {
  LATTICE_TRY(const boost::json::value document, Parse(text, where));
  const JsonView root(document, where + ": ");
  if (!root.IsObject()) return root.Complain("expected an object");
  PoolingSpec spec;
  LATTICE_TRY(const std::int64_t old_width,
              root.IntOr("word_embedding_dimension", 0, 1, kMaxWidth));
  LATTICE_TRY(const std::int64_t width, root.IntOr("embedding_dimension", old_width, 1, kMaxWidth));
  spec.hidden = static_cast<std::size_t>(width);
  LATTICE_TRY(spec.include_prompt, root.BoolOr("include_prompt", true));
  const auto mode = root.Find("pooling_mode");
  LATTICE_TRY(spec.modes, mode ? PoolingByMode(*mode) : PoolingByBooleans(root));
  return spec;
}

Result<DenseSpec> ParseDense(std::string_view text, const std::string& where) {
  LATTICE_TRY(const boost::json::value document, Parse(text, where));
  const JsonView root(document, where + ": ");
  DenseSpec spec;
  LATTICE_TRY(const JsonView in, root.Get("in_features"));
  LATTICE_TRY(const std::int64_t in_features, in.Int(1, kMaxWidth));
  LATTICE_TRY(const JsonView out, root.Get("out_features"));
  LATTICE_TRY(const std::int64_t out_features, out.Int(1, kMaxWidth));
  spec.in_features = static_cast<std::size_t>(in_features);
  spec.out_features = static_cast<std::size_t>(out_features);
  LATTICE_TRY(spec.bias, root.BoolOr("bias", true));
  LATTICE_TRY(const bool residual, root.BoolOr("use_residual", false));
  LATTICE_TRY(const std::string input, root.StringOr("module_input_name", "sentence_embedding"));
  if (residual || input != "sentence_embedding") {
    return Error{ErrorCode::kUnsupported,
                 where + ": a dense layer with a residual, or on anything but the pooled vector"};
  }
  const auto activation = root.Find("activation_function");
  if (!activation) return spec;
  LATTICE_TRY(const std::string_view dotted, activation->String());
  const auto row =
      std::find_if(kActivations.begin(), kActivations.end(),
                   [&](const ActivationName& a) { return a.name == LastPart(dotted); });
  if (row == kActivations.end()) {
    return Unknown(*activation, "activation", dotted,
                   Listed(kActivations, [](const ActivationName& a) { return a.name; }));
  }
  spec.activation = row->activation;
  return spec;
}

Result<TransformerSettings> ParseTransformerSettings(std::string_view text,
                                                     const std::string& where) {
  LATTICE_TRY(const boost::json::value document, Parse(text, where));
  const JsonView root(document, where + ": ");
  if (!root.IsObject()) return root.Complain("expected an object");
  TransformerSettings settings;
  if (const auto limit = root.Find("max_seq_length")) {
    LATTICE_TRY(const std::int64_t n_tokens, limit->Int(1, INT64_MAX));
    settings.max_tokens = static_cast<std::size_t>(n_tokens);
  }
  LATTICE_TRY(settings.lower_case, root.BoolOr("do_lower_case", false));
  return settings;
}

Result<Prompts> ParsePrompts(std::string_view text, const std::string& where) {
  LATTICE_TRY(const boost::json::value document, Parse(text, where));
  const JsonView root(document, where + ": ");
  if (!root.IsObject()) return root.Complain("expected an object");
  Prompts prompts;
  if (const auto table = root.Find("prompts")) {
    if (!table->IsObject()) return table->Complain("expected an object");
    for (const auto& member : table->value().get_object()) {
      const std::string name(member.key().data(), member.key().size());
      LATTICE_TRY(prompts.by_name[name], table->StringOr(name, ""));
    }
  }
  LATTICE_TRY(prompts.default_name, root.StringOr("default_prompt_name", ""));
  if (!prompts.default_name.empty() && !prompts.by_name.contains(prompts.default_name)) {
    return Error{ErrorCode::kCorruptData,
                 where + ": default_prompt_name: not one of the names in 'prompts'"};
  }
  LATTICE_TRY(prompts.similarity, root.StringOr("similarity_fn_name", "cosine"));
  if (std::find(std::begin(kSimilarities), std::end(kSimilarities), prompts.similarity) ==
      std::end(kSimilarities)) {
    return Unknown(root, "similarity_fn_name", prompts.similarity,
                   Listed(kSimilarities, [](std::string_view name) { return name; }));
  }
  return prompts;
}

}  // namespace lattice::embed
