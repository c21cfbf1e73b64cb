#include "tokenizers/model.h"

#include <string>

namespace lattice::tokenizers {
namespace {

// Files of early versions name no type; their keys tell.
std::string_view ImpliedType(const JsonView& model) {
  const auto vocab = model.Find("vocab");
  if (vocab && vocab->IsArray()) return "Unigram";
  if (model.Find("merges")) return "BPE";
  if (model.Find("max_input_chars_per_word") || model.Find("continuing_subword_prefix")) {
    return "WordPiece";
  }
  return "WordLevel";
}

}  // namespace

Result<std::unique_ptr<TokenModel>> MakeTokenModel(const JsonView& model, BpeInput input) {
  if (!model.IsObject()) return model.Complain("expected an object");
  LATTICE_TRY(const std::string type, model.StringOr("type", ImpliedType(model)));
  if (type == "WordPiece") return MakeWordPiece(model);
  if (type == "BPE") return MakeBpe(model, input);
  if (type == "Unigram") return MakeUnigram(model);
  if (type == "WordLevel") return MakeWordLevel(model);
  return Error{ErrorCode::kUnsupported, model.where() + ".type: unknown model '" + type +
                                            "'; known: WordPiece, BPE, Unigram, WordLevel"};
}

}  // namespace lattice::tokenizers
