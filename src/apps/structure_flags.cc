#include "apps/structure_flags.h"

#include <cstddef>
#include <utility>

#include "apps/number_flags.h"
#include "base/files.h"

namespace lattice::apps {
namespace {

constexpr std::size_t kMaxSpace = 1000;
constexpr std::size_t kMaxFileBytes = std::size_t{4} << 20;

}  // namespace

void DeclareStructureFlags(CLI::App& arguments, StructureFlags& flags) {
  CLI::Option* const schema = arguments.add_option(
      "--schema", flags.schema, "Hold the answer to the JSON Schema in this file");
  CLI::Option* const grammar = arguments.add_option(
      "--grammar", flags.grammar, "Hold the answer to the GBNF grammar in this file");
  CLI::Option* const regex = arguments.add_option(
      "--regex", flags.regex, "Hold the answer, as a whole, to this regular expression");
  schema->type_name("FILE")->excludes(grammar)->excludes(regex);
  grammar->type_name("FILE")->excludes(regex);
  regex->type_name("R");
  AddCount(arguments, "--schema-space", flags.schema_space,
           "White space that may stand between the parts of JSON, in characters", {0, kMaxSpace})
      ->needs(schema);
}

Result<std::optional<decoding::GrammarText>> ReadStructure(const StructureFlags& flags) {
  using decoding::GrammarKind;
  const std::string& file = flags.schema.empty() ? flags.grammar : flags.schema;
  decoding::GrammarText text{GrammarKind::kRegex, flags.regex};
  if (!file.empty()) {
    text.kind = flags.schema.empty() ? GrammarKind::kGbnf : GrammarKind::kJsonSchema;
    LATTICE_TRY(text.text, ReadFile(file, kMaxFileBytes));
    text.max_whitespace = flags.schema_space;
  } else if (flags.regex.empty()) {
    return std::optional<decoding::GrammarText>();
  }
  if (const auto compiled = decoding::CompileGrammar(text); !compiled) {
    Error error = compiled.error();
    return file.empty() ? std::move(error).Within("--regex") : std::move(error).Within(file);
  }
  return std::optional(std::move(text));
}

Result<std::shared_ptr<grammar::Automaton>> PrepareStructure(
    const std::optional<decoding::GrammarText>& text, const engine::TextModel& model) {
  if (!text) return std::shared_ptr<grammar::Automaton>();
  return decoding::GrammarCache(model.tokenizer, model.n_tokens()).Get(*text);
}

std::vector<TokenId> EndTokens(const engine::GenerationOptions& options,
                               const engine::TextModel& model) {
  return options.ignore_stop_tokens ? std::vector<TokenId>() : model.defaults.stop_ids;
}

}  // namespace lattice::apps
