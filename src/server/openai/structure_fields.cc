#include "server/openai/structure_fields.h"

#include <boost/json/serialize.hpp>
#include <utility>
#include <vector>

namespace lattice::server {
namespace {

using decoding::GrammarKind;
using decoding::GrammarText;

constexpr std::size_t kMaxChoices = 10'000;
constexpr std::int64_t kMaxWhitespace = 1000;
constexpr std::string_view kNames[] = {"response_format", "grammar",           "json_schema",
                                       "guided_json",     "guided_regex",      "guided_choice",
                                       "guided_grammar",  "structured_outputs"};

GrammarText AnyObject() {
  return {GrammarKind::kJsonSchema, std::string(decoding::kAnyObjectSchema)};
}

/// The schema itself, or its text.
GrammarText SchemaText(const boost::json::value& schema) {
  const auto* text = schema.if_string();
  return {GrammarKind::kJsonSchema, text != nullptr ? std::string(*text) : serialize(schema)};
}

std::optional<GrammarText> ReadFormat(FieldReader& reader, const boost::json::object& format) {
  const boost::json::value* type = format.if_contains("type");
  if (type == nullptr || *type == "text") return std::nullopt;
  if (*type == "json_object") return AnyObject();
  if (*type != "json_schema") {
    reader.Complain("response_format", "has a type other than text, json_object and json_schema");
    return std::nullopt;
  }
  const boost::json::value* wrapper = format.if_contains("json_schema");
  const auto* inner = wrapper == nullptr ? nullptr : wrapper->if_object();
  const boost::json::value* schema = inner == nullptr ? nullptr : inner->if_contains("schema");
  if (schema == nullptr || !(schema->is_object() || schema->is_bool())) {
    reader.Complain("response_format", "has no json_schema.schema that is an object");
    return std::nullopt;
  }
  return SchemaText(*schema);
}

/// One of json, regex, choice and grammar, in an object or with "guided_" before the name.
std::optional<GrammarText> ReadOne(FieldReader& reader, std::string_view key,
                                   std::string_view kind) {
  const boost::json::value* value = reader.Find(key);
  if (value == nullptr) return std::nullopt;
  if (kind == "json") {
    if (value->is_object() || value->is_string() || value->is_bool()) return SchemaText(*value);
    reader.Complain(key, "must be a schema, or the text of one");
    return std::nullopt;
  }
  if (kind == "choice") {
    std::vector<std::string> choices = reader.Strings(key, kMaxChoices);
    if (choices.empty()) return std::nullopt;
    return decoding::ChoiceGrammar(choices);
  }
  auto text = reader.String(key);
  if (!text || text->empty()) return std::nullopt;
  return GrammarText{kind == "regex" ? GrammarKind::kRegex : GrammarKind::kGbnf, *std::move(text)};
}

std::optional<GrammarText> ReadOutputs(FieldReader& reader, const boost::json::object& object) {
  static constexpr std::string_view kKnown[] = {"json",    "regex",       "choice",
                                                "grammar", "json_object", "max_whitespace"};
  FieldReader inner(object);
  std::optional<GrammarText> found;
  if (inner.Bool("json_object").value_or(false)) found = AnyObject();
  for (const char* kind : {"json", "regex", "choice", "grammar"}) {
    auto one = ReadOne(inner, kind, kind);
    if (one && found) inner.Complain(kind, "cannot go with another one");
    if (one) found = std::move(one);
  }
  const auto space = inner.Int("max_whitespace", 0, kMaxWhitespace);
  if (found && space) found->max_whitespace = static_cast<std::uint32_t>(*space);
  inner.RefuseOthers({kKnown});
  if (!inner.ok()) {
    reader.Complain("structured_outputs." + inner.error().param, "is not what it should be",
                    inner.error().code);
  }
  return found;
}

}  // namespace

std::span<const std::string_view> StructureFieldNames() { return kNames; }

std::optional<StructureField> ReadStructure(FieldReader& reader) {
  std::optional<StructureField> found;
  const auto take = [&](std::string_view param, std::optional<GrammarText> text) {
    if (!text) return;
    if (found) return reader.Complain(param, "cannot go with '" + found->param + "'");
    found = StructureField{*std::move(text), std::string(param)};
  };
  if (const auto* format = reader.Object("response_format")) {
    take("response_format", ReadFormat(reader, *format));
  }
  if (const auto* outputs = reader.Object("structured_outputs")) {
    take("structured_outputs", ReadOutputs(reader, *outputs));
  }
  take("grammar", ReadOne(reader, "grammar", "grammar"));
  take("json_schema", ReadOne(reader, "json_schema", "json"));
  for (const char* kind : {"json", "regex", "choice", "grammar"}) {
    const std::string key = std::string("guided_") + kind;
    take(key, ReadOne(reader, key, kind));
  }
  return found;
}

ApiResult<AnswerStructure> PrepareStructure(const std::optional<StructureField>& field,
                                            const ServedTextModel& model,
                                            const chat::ReasoningMarkers* markers,
                                            bool opens_reasoning, bool may_open) {
  AnswerStructure structure;
  if (!field) return structure;
  const auto refuse = [&](std::string message) {
    return ApiError{.message = field->param + ": " + std::move(message),
                    .param = field->param,
                    .code = "invalid_value"};
  };
  auto automaton = model.grammars->Get(field->text);
  if (!automaton) return refuse(automaton.error().message);
  structure.automaton = *std::move(automaton);
  if (markers == nullptr) return structure;
  if (markers->channels) {
    return refuse("the answers of a model that speaks in channels cannot be held to a format");
  }
  auto marks = decoding::FindThinkingMarks(*model.tokenizer, markers->open, markers->close,
                                           opens_reasoning, may_open);
  if (!marks) return refuse(marks.error().message);
  structure.thinking = *std::move(marks);
  return structure;
}

void AnswerStructure::HoldTo(const ServedTextModel& model,
                             engine::GenerationOptions& options) const {
  if (automaton == nullptr) return;
  options.mask = std::make_shared<decoding::GrammarMask>(
      automaton, model.tokenizer,
      options.ignore_stop_tokens ? std::vector<TokenId>() : model.defaults.stop_ids, thinking);
}

}  // namespace lattice::server
