#include "apps/tokenizer_flags.h"

#include <filesystem>

#include "base/files.h"
#include "engine/text_model.h"
#include "hub/hub.h"

namespace lattice::apps {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;

}  // namespace

void DeclareTokenizerModel(CLI::App& arguments, std::string& model) {
  arguments
      .add_option(
          "-m,--model", model,
          "Folder, known name, OWNER/NAME, tokenizer.json or .model file (the default model)")
      ->type_name("MODEL");
}

Result<std::shared_ptr<const tokenizers::Tokenizer>> OpenTokenizer(const std::string& model,
                                                                   const AppContext& context) {
  const std::filesystem::path path(model);
  const auto extension = path.extension();
  std::error_code ignored;
  if ((extension == ".json" || extension == ".model") &&
      std::filesystem::is_regular_file(path, ignored)) {
    LATTICE_TRY(const std::string content, ReadFile(path, kMaxFileBytes));
    auto tokenizer = extension == ".json" ? tokenizers::Tokenizer::FromJson(content)
                                          : tokenizers::Tokenizer::FromSentencePiece(content);
    if (!tokenizer) return std::move(tokenizer).error().Within(model);
    return tokenizer;
  }
  LATTICE_TRY(const hub::ResolvedModel resolved, hub::Resolve(model, context.Hub()));
  return engine::LoadTokenizer(resolved.path);
}

}  // namespace lattice::apps
