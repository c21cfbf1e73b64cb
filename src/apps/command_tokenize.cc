#include "apps/command_tokenize.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/json_text.h"
#include "apps/number_flags.h"
#include "apps/text_input.h"
#include "apps/tokenizer_flags.h"

namespace lattice::apps {
namespace {

struct Arguments {
  std::string model;
  std::vector<std::string> texts;
  std::string input;
  std::size_t max_tokens = 0;
  bool no_special = false;
  bool special_as_text = false;
  bool json = false;
};

std::string Join(const std::vector<TokenId>& ids, char separator) {
  std::string out;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i != 0) out += separator;
    out += std::to_string(ids[i]);
  }
  return out;
}

std::string JsonLine(const tokenizers::Tokenizer& tokenizer, const tokenizers::Encoding& encoding) {
  std::string out = "{\"ids\":[" + Join(encoding.ids, ',') + "],\"offsets\":[";
  for (std::size_t i = 0; i < encoding.offsets.size(); ++i) {
    if (i != 0) out += ',';
    out += "[" + std::to_string(encoding.offsets[i].begin) + "," +
           std::to_string(encoding.offsets[i].end) + "]";
  }
  out += "],\"tokens\":[";
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    if (i != 0) out += ',';
    AppendJson(tokenizer.TokenText(encoding.ids[i]).value_or(""), out);
  }
  out += "]";
  if (encoding.truncated()) {
    out += ",\"n_tokens_untruncated\":" + std::to_string(encoding.n_tokens_untruncated);
  }
  return out + "}\n";
}

std::string PlainLines(const tokenizers::Tokenizer& tokenizer,
                       const tokenizers::Encoding& encoding) {
  std::string out;
  for (const TokenId id : encoding.ids) {
    out += std::to_string(id) + "\t" + std::string(tokenizer.TokenText(id).value_or("")) + "\n";
  }
  return out + std::to_string(encoding.ids.size()) + " tokens\n";
}

Status Tokenize(const Arguments& arguments, const AppContext& context) {
  LATTICE_TRY(TextInput input, TextInput::Open(arguments.texts, arguments.input));
  LATTICE_TRY(const auto tokenizer, OpenTokenizer(arguments.model, context));
  tokenizers::EncodeOptions options;
  options.add_special_tokens = !arguments.no_special;
  options.special_as_text = arguments.special_as_text;
  options.with_offsets = arguments.json;
  options.max_tokens = arguments.max_tokens;
  while (true) {
    LATTICE_TRY(const std::vector<std::string> texts, input.Next(256));
    if (texts.empty()) return Ok();
    std::string out;
    for (const std::string& text : texts) {
      LATTICE_TRY(const tokenizers::Encoding encoding, tokenizer->Encode(text, options));
      out += arguments.json ? JsonLine(*tokenizer, encoding) : PlainLines(*tokenizer, encoding);
    }
    LATTICE_TRY_VOID(Print(out));
  }
}

}  // namespace

Action DeclareTokenize(CLI::App& arguments, const AppContext& context) {
  const auto parsed = std::make_shared<Arguments>();
  DeclareTokenizerModel(arguments, parsed->model);
  DeclareTexts(arguments, parsed->texts, parsed->input);
  AddCount(arguments, "--max-tokens", parsed->max_tokens,
           "Cut each text to N tokens as the model would; 0: never");
  arguments.add_flag("--no-special", parsed->no_special, "Add no tokens around the text");
  arguments.add_flag("--special-as-text", parsed->special_as_text,
                     "Read \"<|im_end|>\" and kin in a text as plain characters");
  arguments.add_flag("--json", parsed->json,
                     "A line for each text: ids, offsets in characters, tokens");
  arguments.footer(
      "\nExample:\n  lattice tokenize --model all-minilm-l6-v2 \"hello world\" --json");
  return [parsed, &context] { return Tokenize(*parsed, context); };
}

}  // namespace lattice::apps
