#include "grammar/json_schema/marked_arguments.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <deque>
#include <string>
#include <vector>

#include "grammar/json_schema/schema_writer.h"

namespace lattice::grammar {
namespace {

namespace json = boost::json;

constexpr std::string_view kBegin = "<parameter=", kEnd = "</parameter>";
constexpr std::size_t kMaxKeyBytes = 256;
constexpr std::array<std::string_view, 6> kTypes = {"null",   "boolean", "integer",
                                                    "number", "array",   "object"};

bool CanBeKey(std::string_view name) {
  return !name.empty() && name.size() <= kMaxKeyBytes && name.find_first_of("<>\n") == name.npos;
}

Symbol Parameter(GrammarBuilder& builder, Symbol key, Symbol value) {
  return builder.Sequence({builder.Text(kBegin), key, builder.Text(">\n"), value,
                           builder.Text("\n" + std::string(kEnd) + "\n")});
}

JsonSchemaOptions WithStyle(JsonSchemaOptions options, const StringStyle& style) {
  options.strings = style;
  return options;
}

class MarkedArguments {
 public:
  MarkedArguments(SchemaDocument& document, GrammarBuilder& builder, const json::object& types,
                  const JsonSchemaOptions& options)
      : document_(document),
        builder_(builder),
        types_(types),
        text_options_(
            WithStyle(options, {.escaped = false, .quote = "", .never = std::string(kEnd)})),
        json_options_(WithStyle(options, {.never = std::string(kEnd)})),
        text_(document, builder, text_options_),
        json_(document, builder, json_options_) {}

  Result<Symbol> All() {
    const Goal root{Holds(document_.root())};
    LATTICE_TRY(const Shape* shape, json_.expander.Expand(root));
    std::vector<Symbol> ways;
    for (const ObjectForm& form : shape->objects) {
      if (json_.expander.FormIsEmpty(form, 2)) continue;
      LATTICE_TRY(ways.emplace_back(), OfForm(form));
    }
    return builder_.Choice(ways);
  }

 private:
  Result<Symbol> OfForm(const ObjectForm& form) {
    std::vector<Symbol> parameters;
    std::uint32_t n_required = 0;
    for (const bool declared : {true, false}) {
      for (const ObjectForm::Property& property : form.properties) {
        if (property.declared != declared) continue;
        const Goal goal = json_.expander.GoalOf(form, property);
        const bool is_possible = !IsNever(goal) && CanBeKey(property.name);
        if (property.required && !is_possible) return builder_.Never();
        if (!is_possible) continue;
        LATTICE_TRY(const Symbol value, Value(goal, property.name));
        const Symbol one = Parameter(builder_, builder_.Text(property.name), value);
        parameters.push_back(property.required ? one : builder_.Optional(one));
        n_required += property.required;
      }
    }
    if (!form.witnesses.empty() || form.min > n_required || form.max < parameters.size()) {
      return Error{
          ErrorCode::kUnsupported,
          "#: calls of this form cannot be held to a number of arguments, nor to arguments "
          "without name"};
    }
    return builder_.Sequence(parameters);
  }

  Result<Symbol> Value(const Goal& goal, std::string_view key) {
    const json::value* listed = types_.if_contains(key);
    const auto allows = [&](std::string_view type) {
      return listed == nullptr || listed->as_array().empty() ||
             std::ranges::find(listed->as_array(), json::value(type)) != listed->as_array().end();
    };
    std::vector<Symbol> ways;
    if (allows("string")) {
      LATTICE_TRY(const Shape* texts, text_.expander.Expand(OfTypes(goal, {"string"})));
      if (texts->string != builder_.Nothing()) {
        ways.push_back(builder_.Terminal(builder_.Minus(texts->string, ReadAsJson(allows))));
      }
    }
    json::array others;
    for (const std::string_view type : kTypes) {
      if (allows(type)) others.emplace_back(type);
    }
    if (!others.empty()) {
      LATTICE_TRY(ways.emplace_back(), json_.emitter.Emit(OfTypes(goal, std::move(others))));
    }
    return builder_.Choice(ways);
  }

  Goal OfTypes(const Goal& goal, json::array types) {
    const json::value& schema = kept_.emplace_back(json::object{{"type", std::move(types)}});
    return Both(goal, {Holds(document_.Child(document_.root(), schema, "type"))});
  }

  // Texts that are no strings to the reader, and perhaps some others.
  template <typename Allows>
  Expr ReadAsJson(const Allows& allows) {
    const Expr space = builder_.Repeat(builder_.Chars(CharSet::OfText(" \t\r\n")), 0, kNoLimit);
    const Expr any = builder_.AnyText();
    std::vector<Expr> texts;
    const auto add_words = [&](std::initializer_list<std::string_view> words) {
      for (const std::string_view word : words) {
        texts.push_back(builder_.Concat({space, builder_.Literal(word), space}));
      }
    };
    const auto add_beginnings = [&](std::string_view first) {
      texts.push_back(builder_.Concat({space, builder_.Chars(CharSet::OfText(first)), any}));
    };
    if (allows("null")) add_words({"null", "None"});
    if (allows("boolean")) add_words({"true", "false", "True", "False"});
    if (allows("integer") || allows("number")) add_beginnings("-0123456789");
    if (allows("array")) add_beginnings("[");
    if (allows("object")) add_beginnings("{");
    return builder_.Or(texts);
  }

  SchemaDocument& document_;
  GrammarBuilder& builder_;
  const json::object& types_;
  JsonSchemaOptions text_options_, json_options_;
  SchemaWriter text_, json_;
  std::deque<json::value> kept_;
};

}  // namespace

Result<Symbol> AddMarkedArguments(GrammarBuilder& builder, const json::value& schema,
                                  const json::object& types, const JsonSchemaOptions& options) {
  LATTICE_TRY(SchemaDocument document, SchemaDocument::Read(schema, options.dialect));
  return MarkedArguments(document, builder, types, options).All();
}

Symbol AddAnyMarkedArguments(GrammarBuilder& builder) {
  const Expr any = builder.AnyText();
  const Expr text = builder.Repeat(builder.Chars(CharSet::All()), 0, kNoLimit);
  const Expr key =
      builder.Repeat(builder.Chars(CharSet::All().Minus(CharSet::OfText("<>\n"))), 1, 64);
  const Expr value = builder.Minus(text, builder.Concat({any, builder.Literal(kEnd), any}));
  return builder.Repeat(Parameter(builder, builder.Terminal(key), builder.Terminal(value)), 0,
                        kNoLimit);
}

}  // namespace lattice::grammar
