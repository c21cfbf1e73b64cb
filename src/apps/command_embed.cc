#include "apps/command_embed.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/embedding_flags.h"
#include "apps/number_flags.h"
#include "apps/progress_bar.h"
#include "apps/text_input.h"
#include "apps/vector_output.h"

namespace lattice::apps {
namespace {

// Texts held at once: enough to sort by length, little enough to forget.
constexpr std::size_t kWindow = 2048;

struct Arguments {
  EmbeddingFlags embedding;
  std::vector<std::string> texts;
  std::string input;
  std::string role = "none";
  std::string prompt;
  bool has_prompt = false;
  std::size_t dimensions = 0;
  std::string pooling;
  bool no_normalize = false;
  bool special_as_text = false;
  std::string format = "json";
  std::string output;
  bool json = false;
};

Result<EmbedRequest> MakeRequest(const Arguments& arguments, const AppContext& context) {
  EmbedRequest request;
  request.model = arguments.embedding.model;
  LATTICE_TRY(request.role, ParseRole(arguments.role));
  if (arguments.has_prompt) request.prompt = arguments.prompt;
  request.dimensions = arguments.dimensions;
  if (!arguments.pooling.empty()) {
    LATTICE_TRY(request.pooling, ParsePooling(arguments.pooling));
  }
  if (arguments.no_normalize) request.normalize = false;
  request.special_as_text = arguments.special_as_text;
  request.stop = context.stop;
  return request;
}

void RemarkOnTruncation(const AppContext& context, std::size_t n_truncated, std::size_t n_texts) {
  const auto remark = TruncationRemark(n_truncated, n_texts);
  const LogSink log = context.Log();
  if (remark && log) log(LogLevel::kWarning, *remark);
}

Status Embed(const Arguments& arguments, const AppContext& context) {
  LATTICE_TRY(const VectorFormat format,
              ParseVectorFormat(arguments.json ? "json" : arguments.format));
  LATTICE_TRY(TextInput input, TextInput::Open(arguments.texts, arguments.input));
  LATTICE_TRY(EmbedRequest request, MakeRequest(arguments, context));
  LATTICE_TRY(const auto service, OpenService(arguments.embedding, context));
  LATTICE_TRY(const EmbeddingModelInfo model, service->Describe(request.model));
  // Of no texts: what the request's vectors will be like, or why there can be none.
  LATTICE_TRY(const Embeddings none, service->Embed({}, request));
  LATTICE_TRY(const auto output,
              OpenVectorOutput(format, arguments.output, model, none.dimensions));

  ProgressSink progress;
  if (!context.quiet && (input.total() == 0 || input.total() > kWindow)) {
    progress = MakeProgressSink(ProgressUnit::kItems);
  }
  std::size_t n_done = 0, n_truncated = 0;
  if (progress) {
    request.progress = [&](std::size_t done, std::size_t) {
      progress("embedding", n_done + done, input.total());
    };
  }
  while (true) {
    LATTICE_TRY(const std::vector<std::string> texts, input.Next(kWindow));
    if (texts.empty()) break;
    LATTICE_TRY(const Embeddings embeddings, service->Embed(texts, request));
    LATTICE_TRY_VOID(output->Append(texts, embeddings));
    n_truncated += CountTruncated(embeddings.usage);
    n_done += texts.size();
  }
  LATTICE_TRY_VOID(output->Finish());
  RemarkOnTruncation(context, n_truncated, n_done);
  return Ok();
}

}  // namespace

Action DeclareEmbed(CLI::App& arguments, const AppContext& context) {
  const auto parsed = std::make_shared<Arguments>();
  DeclareEmbeddingFlags(arguments, parsed->embedding);
  DeclareTexts(arguments, parsed->texts, parsed->input);
  arguments
      .add_option("--role", parsed->role, "What the texts are for: the model's prompt is added")
      ->check(CLI::IsMember(RoleNames()))
      ->capture_default_str();
  CLI::Option* prompt = arguments.add_option("--prompt", parsed->prompt,
                                             "Put before each text, instead of the role's");
  AddCount(arguments, "--dimensions", parsed->dimensions,
           "Keep the first N numbers (models trained for it), then normalise", {1});
  arguments.add_option("--pooling", parsed->pooling, "Instead of what the model's files say")
      ->check(CLI::IsMember(PoolingNames()));
  arguments.add_flag("--no-normalize", parsed->no_normalize,
                     "Leave the vectors' lengths as they are");
  arguments.add_flag("--special-as-text", parsed->special_as_text,
                     "Read \"[SEP]\" and kin in a text as plain characters");
  arguments.add_option("-f,--format", parsed->format, "json, jsonl, npy or table")
      ->check(CLI::IsMember(VectorFormatNames()))
      ->capture_default_str();
  arguments.add_option("-o,--output", parsed->output, "Instead of standard output")
      ->type_name("FILE");
  arguments.add_flag("--json", parsed->json, "The same as --format json");
  arguments.footer(
      "\nExamples:\n"
      "  lattice embed \"a cat\" \"a dog\" --format table\n"
      "  lattice embed --input texts.jsonl --format npy --output vectors.npy\n"
      "  lattice embed --model bge-small-en-v1.5 --role query \"who wrote it?\"");
  return [parsed, prompt, &context] {
    parsed->has_prompt = prompt->count() > 0;
    return Embed(*parsed, context);
  };
}

}  // namespace lattice::apps
