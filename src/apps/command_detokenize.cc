#include "apps/command_detokenize.h"

#include <memory>
#include <string>
#include <vector>

#include "apps/json_text.h"
#include "apps/number_flags.h"
#include "apps/tokenizer_flags.h"

namespace lattice::apps {
namespace {

struct Arguments {
  std::string model;
  std::vector<TokenId> ids;
  bool keep_special = false;
  bool json = false;
};

Status Detokenize(const Arguments& arguments, const AppContext& context) {
  LATTICE_TRY(const auto tokenizer, OpenTokenizer(arguments.model, context));
  LATTICE_TRY(const std::string text,
              tokenizer->Decode(arguments.ids, /*skip_special_tokens=*/!arguments.keep_special));
  if (!arguments.json) return Print(text + "\n");
  std::string out = "{\"text\":";
  AppendJson(text, out);
  return Print(out + "}\n");
}

}  // namespace

Action DeclareDetokenize(CLI::App& arguments, const AppContext& context) {
  const auto parsed = std::make_shared<Arguments>();
  DeclareTokenizerModel(arguments, parsed->model);
  AddCount(arguments, "ID", parsed->ids, "Token ids")->required();
  arguments.add_flag("--keep-special", parsed->keep_special, "Show special tokens too");
  arguments.add_flag("--json", parsed->json, "Print JSON");
  arguments.footer("\nExample:\n  lattice detokenize --model all-minilm-l6-v2 101 7592 2088 102");
  return [parsed, &context] { return Detokenize(*parsed, context); };
}

}  // namespace lattice::apps
