#include "apps/command_show.h"

#include <boost/json.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "apps/model_json.h"
#include "apps/progress_bar.h"
#include "apps/weight_types.h"
#include "base/files.h"
#include "base/json.h"
#include "models/config.h"
#include "models/model_files.h"

namespace lattice::apps {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string model;
  bool json = false;
};

/// The keys of config.json that say what a model is, as far as they are there.
Result<boost::json::object> ReadConfigSummary(const fs::path& folder) {
  constexpr std::size_t kMaxBytes = std::size_t{4} << 20;
  const fs::path file = folder / "config.json";
  LATTICE_TRY(const std::string text, ReadFile(file, kMaxBytes));
  auto document = ParseJson(text);
  if (!document) return std::move(document).error().Within(file.string());
  if (!document->is_object())
    return JsonView(*document, file.string()).Complain("expected an object");
  boost::json::object summary;
  for (const char* key :
       {"architectures", "model_type", "hidden_size", "num_hidden_layers", "num_attention_heads",
        "max_position_embeddings", "vocab_size", "torch_dtype", "dtype"}) {
    if (const boost::json::value* value = document->get_object().if_contains(key)) {
      summary[key] = *value;
    }
  }
  const JsonView config(*document, file.string() + ": ");
  const std::vector<std::string> unread = models::UnreadParts(config);
  if (!unread.empty()) summary["not_used"] = boost::json::value_from(unread);
  return summary;
}

/// The same of a .gguf file, by its header, and how many tensors it has of each type.
Result<boost::json::object> ReadGgufSummary(const fs::path& file) {
  LATTICE_TRY(const auto files, models::ModelFiles::Open(file));
  boost::json::object summary = ModelInfoJson(files->description().info);
  std::map<std::string, std::size_t> types;
  for (const auto& [name, tensor] : files->checkpoint()->tensors()) {
    ++types[TypeText(tensor.dtype)];
  }
  summary["tensors"] = boost::json::value_from(types);
  return summary;
}

/// Of a model in the cache, which may be one .gguf file.
std::optional<boost::json::object> CachedSummary(const hub::CachedModel& model) {
  for (const hub::CachedFile& file : model.files) {
    if (!file.path.ends_with(".gguf")) continue;
    auto summary = ReadGgufSummary(model.folder / file.path);
    return summary ? std::optional(std::move(*summary)) : std::nullopt;
  }
  auto summary = ReadConfigSummary(model.folder);
  return summary ? std::optional(std::move(*summary)) : std::nullopt;
}

std::string FileLines(const hub::CachedModel& model) {
  std::string text = "files\n";
  for (const hub::CachedFile& file : model.files) {
    text += "  " + file.sha256.substr(0, 12) + "  " + file.path + "  " + ByteText(file.size) + "\n";
  }
  return text;
}

Result<boost::json::object> Describe(const Arguments& arguments, const AppContext& context,
                                     std::string& files) {
  LATTICE_TRY(const hub::ModelReference reference, hub::ParseModelReference(arguments.model));
  if (const auto* path = std::get_if<fs::path>(&reference)) {
    boost::json::object json{{"model", arguments.model}, {"path", path->string()}};
    const bool one_file = path->extension() == ".gguf";
    LATTICE_TRY(json["config"], one_file ? ReadGgufSummary(*path) : ReadConfigSummary(*path));
    return json;
  }
  const hub::ModelCache cache(context.environment.model_cache);
  LATTICE_TRY(const hub::CachedModel model, cache.Find(std::get<hub::HubId>(reference)));
  files = FileLines(model);
  boost::json::object json = CachedModelJson(model, /*with_files=*/true);
  if (auto config = CachedSummary(model)) json["config"] = std::move(*config);
  return json;
}

Status Show(const Arguments& arguments, const AppContext& context) {
  std::string text;
  std::string files;
  LATTICE_TRY(const boost::json::object json, Describe(arguments, context, files));
  if (arguments.json) return Print(boost::json::serialize(json) + "\n");
  const auto append = [&text](const boost::json::object& values, const std::string& indent) {
    for (const auto& [key, value] : values) {
      if (key == "files" || key == "config") continue;
      const bool is_text = value.is_string();
      text += indent + std::string(key) + "  " +
              (is_text ? std::string(value.get_string()) : boost::json::serialize(value)) + "\n";
    }
  };
  append(json, "");
  if (const boost::json::value* config = json.if_contains("config")) {
    text += "config\n";
    append(config->get_object(), "  ");
  }
  return Print(text + files);
}

}  // namespace

Action DeclareShow(CLI::App& arguments, const AppContext& context) {
  const auto parsed = std::make_shared<Arguments>();
  arguments.add_option("MODEL", parsed->model, "A folder, .gguf file, known name or OWNER/NAME")
      ->required();
  arguments.add_flag("--json", parsed->json, "Print JSON");
  arguments.footer("\nExample:\n  lattice show all-minilm-l6-v2");
  return [parsed, &context] { return Show(*parsed, context); };
}

}  // namespace lattice::apps
