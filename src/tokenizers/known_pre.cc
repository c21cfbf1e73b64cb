#include "tokenizers/known_pre.h"

#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lattice::tokenizers {
namespace {

enum class Cut : std::uint8_t { kGpt2, kDigits, kQwen2, kQwen35, kLlama3 };

struct Entry {
  std::string_view name;
  Cut cut;
  bool form_c = false;
  bool ignore_merges = false;  // and a token at the begin
};

constexpr Entry kEntries[] = {
    {"default", Cut::kGpt2},
    {"gpt-2", Cut::kGpt2},
    {"phi-2", Cut::kGpt2},
    {"mpt", Cut::kGpt2},
    {"olmo", Cut::kGpt2},
    {"jais", Cut::kGpt2},
    {"modern-bert", Cut::kGpt2, /*form_c=*/true},
    {"smollm", Cut::kDigits},
    {"starcoder", Cut::kDigits},
    {"command-r", Cut::kDigits},
    {"refact", Cut::kDigits},
    {"codeshell", Cut::kDigits},
    {"qwen2", Cut::kQwen2, /*form_c=*/true},
    {"deepseek-r1-qwen", Cut::kQwen2, /*form_c=*/true},
    {"qwen35", Cut::kQwen35, /*form_c=*/true},
    {"llama-bpe", Cut::kLlama3, /*form_c=*/false, /*ignore_merges=*/true},
    {"llama3", Cut::kLlama3, /*form_c=*/false, /*ignore_merges=*/true},
    {"llama-v3", Cut::kLlama3, /*form_c=*/false, /*ignore_merges=*/true},
};

std::string_view ExpressionOf(Cut cut) {
  switch (cut) {
    case Cut::kQwen2:
      return R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    case Cut::kQwen35:
      return R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    case Cut::kLlama3:
      return R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    case Cut::kGpt2:
    case Cut::kDigits:
      break;
  }
  return {};
}

// The steps as a tokenizer.json has them.
boost::json::value StepsOf(Cut cut) {
  const std::string_view expression = ExpressionOf(cut);
  const boost::json::value bytes = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", expression.empty()}};
  boost::json::array steps;
  if (cut == Cut::kDigits) steps.push_back({{"type", "Digits"}, {"individual_digits", true}});
  if (!expression.empty()) {
    const boost::json::value pattern = {{"Regex", expression}};
    steps.push_back({{"type", "Split"}, {"pattern", pattern}, {"behavior", "Isolated"}});
  }
  steps.push_back(bytes);
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

/// The steps of a sequence, or the one step.
std::vector<JsonView> ListSteps(const JsonView& pre_tokenizer) {
  const auto list = pre_tokenizer.Find("pretokenizers");
  if (!list) return {pre_tokenizer};
  auto steps = list->Array();
  return steps ? std::move(*steps) : std::vector<JsonView>();
}

bool IsType(const JsonView& step, std::string_view type) {
  const auto found = step.StringOr("type", "");
  return found && *found == type;
}

bool Flag(const JsonView& step, std::string_view key, bool fallback) {
  const auto flag = step.BoolOr(key, fallback);
  return flag ? *flag : fallback;
}

/// Whether the last step spells bytes, and cuts as GPT-2 if `cuts`.
bool IsByteLevel(const JsonView& step, bool cuts) {
  return IsType(step, "ByteLevel") && !Flag(step, "add_prefix_space", true) &&
         Flag(step, "use_regex", true) == cuts;
}

std::string ExpressionIn(const JsonView& step) {
  const auto pattern = step.Find("pattern");
  const auto behavior = step.StringOr("behavior", "");
  if (!IsType(step, "Split") || !pattern || !behavior || *behavior != "Isolated") return {};
  auto expression = pattern->StringOr("Regex", "");
  return expression && !Flag(step, "invert", false) ? std::move(*expression) : std::string();
}

}  // namespace

std::optional<std::string_view> NameOfPre(const JsonView& pre_tokenizer) {
  const std::vector<JsonView> steps = ListSteps(pre_tokenizer);
  if (steps.size() == 1 && IsByteLevel(steps[0], /*cuts=*/true)) return "gpt-2";
  if (steps.size() != 2) return std::nullopt;
  if (IsType(steps[0], "Digits")) {
    const bool known = Flag(steps[0], "individual_digits", false) && IsByteLevel(steps[1], true);
    return known ? std::optional<std::string_view>("smollm") : std::nullopt;
  }
  const std::string expression = ExpressionIn(steps[0]);
  if (expression.empty() || !IsByteLevel(steps[1], /*cuts=*/false)) return std::nullopt;
  for (const Entry& entry : kEntries) {
    if (ExpressionOf(entry.cut) == expression) return entry.name;
  }
  return std::nullopt;
}

Result<KnownPre> MakeKnownPre(std::string_view name) {
  const Entry* entry = kEntries;
  std::string known;
  for (const Entry& one : kEntries) {
    if (one.name == name) entry = &one;
    known += known.empty() ? "" : ", ";
    known += one.name;
  }
  if (!name.empty() && entry->name != name) {
    return Error{ErrorCode::kUnsupported, "tokenizer.ggml.pre: unknown pre-tokenizer '" +
                                              std::string(name) + "'; known are " + known};
  }
  KnownPre pre;
  const boost::json::value steps = StepsOf(entry->cut);
  LATTICE_TRY(PreTokenizerParts parts,
              MakePreTokenizer(JsonView(steps, "tokenizer.ggml.pre"), /*raw_bytes=*/true));
  pre.pre_tokenizer = std::move(parts.pre_tokenizer);
  if (entry->form_c) pre.normalizer = MakeNormalForm(NormalForm::kC);
  pre.ignore_merges = pre.add_bos = entry->ignore_merges;
  return pre;
}

}  // namespace lattice::tokenizers
