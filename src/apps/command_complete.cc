#include "apps/command_complete.h"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/generation_flags.h"
#include "apps/generation_json.h"
#include "apps/number_flags.h"
#include "apps/sampling_flags.h"
#include "apps/structure_flags.h"
#include "apps/text_engine.h"
#include "apps/token_ids.h"
#include "decoding/grammar_mask.h"

namespace lattice::apps {
namespace {

constexpr std::size_t kDefaultMaxTokens = 128;  // a raw text may never end by itself
constexpr std::size_t kMaxTop = 100;

struct Arguments {
  TextModelFlags model;
  SamplingFlags sampling;
  StructureFlags structure;
  std::string prompt, ids;
  std::optional<std::size_t> logprobs;
  bool special_as_text = false;
  bool json = false;
};

Result<std::vector<TokenId>> PromptIds(const Arguments& arguments, const engine::TextModel& model) {
  if (!arguments.ids.empty()) return ParseIds(arguments.ids);
  tokenizers::EncodeOptions options;
  options.special_as_text = arguments.special_as_text;
  LATTICE_TRY(tokenizers::Encoding encoding, model.tokenizer->Encode(arguments.prompt, options));
  return std::move(encoding.ids);
}

std::string Json(const engine::Generation& generation, const engine::GenerationOptions& options,
                 const engine::TextModel& model) {
  boost::json::object json = {{"text", generation.text}};
  json["ids"] = boost::json::array(generation.ids.begin(), generation.ids.end());
  json["finish_reason"] = engine::FinishReasonName(generation.finish);
  json["usage"] = UsageJson(generation.usage);
  if (!options.sampling.is_greedy()) json["seed"] = options.sampling.seed;
  if (options.n_top_log_probabilities) {
    boost::json::array places;
    for (const auto& place : generation.log_probabilities) {
      places.push_back(LogProbabilitiesJson(place, *model.tokenizer));
    }
    json["logprobs"] = std::move(places);
  }
  return boost::json::serialize(json) + "\n";
}

Status Complete(const Arguments& arguments, const AppContext& context) {
  if (arguments.prompt.empty() == arguments.ids.empty()) {
    return Error{ErrorCode::kInvalidArgument, "give a prompt: -p TEXT, or --ids \"1 2 3\""};
  }
  LATTICE_TRY(const auto structure, ReadStructure(arguments.structure));
  LATTICE_TRY(TextEngine engine, OpenTextEngine(arguments.model, context));
  LATTICE_TRY(const std::vector<TokenId> prompt, PromptIds(arguments, *engine.model));
  engine::GenerationOptions options =
      MakeGenerationOptions(arguments.sampling, engine.model->defaults);
  if (options.max_tokens == 0) options.max_tokens = kDefaultMaxTokens;
  LATTICE_TRY(auto automaton, PrepareStructure(structure, *engine.model));
  if (automaton != nullptr) {
    options.mask = std::make_shared<decoding::GrammarMask>(
        std::move(automaton), engine.model->tokenizer, EndTokens(options, *engine.model));
  }
  options.n_top_log_probabilities = arguments.logprobs;
  options.stop = context.stop;
  const auto show = [&](const engine::GeneratedToken& token) {
    return arguments.json || token.text.empty() ? Ok() : Print(token.text);
  };
  LATTICE_TRY(const engine::Generation generation,
              engine.generator->Run(prompt, options, *engine.context, show));
  if (!arguments.json) return Print("\n");
  return Print(Json(generation, options, *engine.model));
}

}  // namespace

Action DeclareComplete(CLI::App& arguments, const AppContext& context) {
  const auto parsed = std::make_shared<Arguments>();
  DeclareTextModelFlags(arguments, parsed->model);
  arguments.add_option("-p,--prompt", parsed->prompt, "The text to go on with")->type_name("TEXT");
  AddIds(arguments, "--ids", parsed->ids, "The prompt as token ids");
  DeclareSamplingFlags(arguments, parsed->sampling);
  DeclareStructureFlags(arguments, parsed->structure);
  AddCount(arguments, "--logprobs", parsed->logprobs,
           "With --json: log-probabilities of each token and of the N likeliest", {0, kMaxTop});
  arguments.add_flag("--special-as-text", parsed->special_as_text,
                     "Read \"<|im_end|>\" and kin in the prompt as plain characters");
  arguments.add_flag("--json", parsed->json, "Print one JSON object at the end");
  arguments.footer(
      "\nGoes on with a text as it stands, without a chat template; 128 tokens unless\n"
      "--max-tokens says otherwise.\n"
      "\nExample:\n  lattice complete -p \"Once upon a time\" --temperature 0 --max-tokens 40");
  return [parsed, &context] { return Complete(*parsed, context); };
}

}  // namespace lattice::apps
