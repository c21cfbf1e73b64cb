#include "apps/quantize_source.h"

#include <string>
#include <utility>

#include "apps/chat_template_files.h"
#include "base/files.h"
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
  LATTICE_TRY(ModelTemplate found, FindModelTemplate(folder, /*with_tools=*/false));
  auto written = decoding::WriteGgufTokenizer({.json = json,
                                               .tokenizer = tokenizer->get(),
                                               .vocab = made.vocab,
                                               .special_tokens = std::move(found.tokens),
                                               .stop_ids = defaults.stop_ids},
                                              made.plan.pairs);
  if (!written) return std::move(written).error().Within(folder.string());
  if (found.source) made.plan.pairs.SetString("tokenizer.chat_template", found.source->text);
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
  return WriteTokenizer(folder, source.made);
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
