#include "apps/command_perplexity.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/generation_flags.h"
#include "apps/generation_json.h"
#include "apps/number_flags.h"
#include "apps/progress_bar.h"
#include "apps/text_engine.h"
#include "base/files.h"
#include "engine/text_score.h"

namespace lattice::apps {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;

struct Arguments {
  TextModelFlags model;
  std::string file, against, against_precision = "auto";
  std::size_t window = 512, stride = 256, max_tokens = 0;
  bool json = false;
};

Result<std::vector<TokenId>> ReadIds(const Arguments& arguments, const engine::TextModel& model) {
  LATTICE_TRY(const std::string text, ReadFile(arguments.file, kMaxFileBytes));
  tokenizers::EncodeOptions options;
  options.special_as_text = true;  // a file about chat templates holds no turns
  LATTICE_TRY(tokenizers::Encoding encoding, model.tokenizer->Encode(text, options));
  if (arguments.max_tokens != 0 && encoding.ids.size() > arguments.max_tokens) {
    encoding.ids.resize(arguments.max_tokens);
  }
  return std::move(encoding.ids);
}

std::string Json(const engine::TextScore& score, const Arguments& arguments,
                 const engine::TextModel& model) {
  boost::json::object json = {
      {"model", model.name},        {"perplexity", Rounded(score.perplexity())},
      {"mean_nll", score.mean_nll}, {"standard_error", score.standard_error},
      {"tokens", score.n_tokens},   {"windows", score.n_windows},
      {"window", arguments.window}, {"stride", arguments.stride}};
  if (score.comparison) {
    json["against"] = {{"model", arguments.against},
                       {"mean_nll", score.comparison->reference_mean_nll},
                       {"mean_kl", score.comparison->mean_kl},
                       {"largest_kl", score.comparison->largest_kl},
                       {"same_best", score.comparison->same_best}};
  }
  return boost::json::serialize(json) + "\n";
}

std::string Lines(const engine::TextScore& score, const Arguments& arguments) {
  char line[256];
  std::snprintf(line, sizeof(line),
                "perplexity %.4f   mean nll %.6f +- %.6f   %zu tokens, %zu windows of %zu, "
                "stride %zu\n",
                score.perplexity(), score.mean_nll, score.standard_error, score.n_tokens,
                score.n_windows, arguments.window, arguments.stride);
  std::string out = line;
  if (!score.comparison) return out;
  std::snprintf(line, sizeof(line),
                "reference  %.4f   mean KL %.6f, largest %.4f; same best token in %.2f %%\n",
                std::exp(score.comparison->reference_mean_nll), score.comparison->mean_kl,
                score.comparison->largest_kl, 100 * score.comparison->same_best);
  return out + line;
}

Status Measure(const Arguments& arguments, const AppContext& context) {
  TextModelFlags flags = arguments.model;
  flags.context = arguments.window;
  const std::unique_ptr<ThreadPool> pool = MakePool(flags.threads);
  LATTICE_TRY(const auto backend, MakeBackend(*pool, context));
  LATTICE_TRY(const auto model, OpenTextModel(flags, context, *backend));
  std::unique_ptr<engine::TextModel> reference;
  if (!arguments.against.empty()) {
    flags.model = arguments.against;
    flags.precision = arguments.against_precision;
    LATTICE_TRY(reference, OpenTextModel(flags, context, *backend));
  }
  LATTICE_TRY(const std::vector<TokenId> ids, ReadIds(arguments, *model));
  engine::ScoreOptions options;
  options.window = arguments.window;
  options.stride = arguments.stride;
  LATTICE_TRY(options.kv_type, ParseKvType(arguments.model.kv_type));
  options.stop = context.stop;
  if (!context.quiet) options.progress = MakeProgressSink(ProgressUnit::kItems);
  LATTICE_TRY(const engine::TextScore score,
              engine::ScoreText(*model, reference.get(), ids, options, *backend));
  return Print(arguments.json ? Json(score, arguments, *model) : Lines(score, arguments));
}

}  // namespace

Action DeclarePerplexity(CLI::App& arguments, const AppContext& context) {
  const auto parsed = std::make_shared<Arguments>();
  DeclareTextModelFlags(arguments, parsed->model);
  arguments.remove_option(arguments.get_option("--context"));
  arguments.add_option("-f,--file", parsed->file, "The text to score")
      ->type_name("FILE")
      ->required();
  AddCount(arguments, "--window", parsed->window, "Tokens that the model sees at once", {2})
      ->capture_default_str();
  AddCount(arguments, "--stride", parsed->stride, "How far each window is from the one before", {1})
      ->capture_default_str();
  AddCount(arguments, "--max-tokens", parsed->max_tokens, "Score so many tokens only; 0: all")
      ->capture_default_str();
  arguments
      .add_option("--against", parsed->against,
                  "Compare with this model, place by place: KL divergence, same best token")
      ->type_name("MODEL");
  arguments
      .add_option("--against-precision", parsed->against_precision, "Arithmetic of that model")
      ->check(CLI::IsMember(ComputePrecisionNames()))
      ->capture_default_str();
  arguments.add_flag("--json", parsed->json, "Print JSON");
  arguments.footer(
      "\nEach token is guessed once, from all tokens before it in the first window that holds it.\n"
      "\nExample, what 8-bit activations cost:\n"
      "  lattice perplexity --model M.gguf --file TEXT --precision int8 --against M.gguf "
      "--against-precision f32");
  return [parsed, &context] { return Measure(*parsed, context); };
}

}  // namespace lattice::apps
