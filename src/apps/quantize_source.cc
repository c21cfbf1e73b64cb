#include "apps/quantize_source.h"

#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "chat/template_source.h"
#include "decoding/gguf_tokenizer_writer.h"
#include "engine/generation_defaults.h"
#include "models/model_files.h"
#include "tokenizers/tokenizer.h"

namespace lattice::apps {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxTokenizerBytes = std::size_t{256} << 20;

Status WriteTokenizer(const fs::path& folder, models::GgufExport& made) {
  const fs::path file = folder / "tokenizer.json";
  LATTICE_TRY(const std::string json, ReadFile(file, kMaxTokenizerBytes));
  auto tokenizer = tokenizers::Tokenizer::FromJson(json);
  if (!tokenizer) return std::move(tokenizer).error().Within(file.string());
  LATTICE_TRY(const engine::GenerationDefaults defaults, engine::ReadGenerationDefaults(folder));
  LATTICE_TRY(chat::SpecialTokens special_tokens, chat::ReadSpecialTokens(folder));
  auto written = decoding::WriteGgufTokenizer({.json = json,
                                               .tokenizer = tokenizer->get(),
                                               .vocab = made.vocab,
                                               .special_tokens = std::move(special_tokens),
                                               .stop_ids = defaults.stop_ids},
                                              made.plan.pairs);
  if (!written) return std::move(written).error().Within(folder.string());
  return Ok();
}

/// The default under the plain key, others under their names, which a list tells.
Status WriteTemplates(const fs::path& folder, weights::GgufPairs& pairs) {
  const std::string key = "tokenizer.chat_template";
  LATTICE_TRY(const chat::NamedTemplates templates, chat::FindChatTemplates(folder));
  std::vector<std::string> names;
  for (const auto& [name, source] : templates) {
    if (name == "default") {
      pairs.SetString(key, source.text);
    } else {
      pairs.SetString(key + "." + name, source.text);
      names.push_back(name);
    }
  }
  if (!names.empty()) pairs.SetStrings("tokenizer.chat_templates", names);
  return Ok();
}

std::string NameOf(const fs::path& folder) {
  const fs::path name = folder.filename().empty() ? folder.parent_path() : folder;
  return name.filename().string();
}

Status OpenFolder(const fs::path& folder, QuantizeSource& source) {
  LATTICE_TRY(const auto files, models::ModelFiles::Open(folder));
  auto made = models::ExportGguf(*files);
  if (!made) return std::move(made).error().Within(folder.string());
  source.made = std::move(*made);
  source.checkpoint = files->checkpoint();
  source.plan().pairs.SetString("general.name", NameOf(folder));
  LATTICE_TRY_VOID(WriteTokenizer(folder, source.made));
  return WriteTemplates(folder, source.plan().pairs);
}

}  // namespace

Result<QuantizeSource> OpenQuantizeSource(const fs::path& path) {
  QuantizeSource source;
  source.path = path;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    LATTICE_TRY_VOID(OpenFolder(path, source));
    return source;
  }
  LATTICE_TRY(source.checkpoint, weights::Checkpoint::Open(path));
  if (source.checkpoint->gguf() == nullptr) {
    return Error{ErrorCode::kUnsupported,
                 path.string() + ": neither a GGUF file nor a folder with config.json"};
  }
  source.made.plan = weights::PlanGgufCopy(*source.checkpoint);
  return source;
}

}  // namespace lattice::apps
