#include "grammar/json_schema/tool_calls.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "grammar/json_schema/json_schema.h"
#include "grammar/json_schema/marked_arguments.h"

namespace lattice::grammar {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxDepth = 210;

// Whatever a schema says, arguments are an object.
json::value ObjectSchema(const json::value& parameters) {
  json::object schema;
  if (const auto* given = parameters.if_object()) schema = *given;
  schema["type"] = "object";
  return schema;
}

class CallRules {
 public:
  CallRules(const json::object& offered, const GrammarLimits& limits)
      : offered_(offered), form_(offered.at("form").as_string()), builder_(limits) {
    options_.limits = limits;
    options_.spaced = form_ != "gemma";
    if (form_ == "gemma") {
      options_.strings = {
          .escaped = false, .quote = Mark("<|\"|>"), .never = "<|\"|>", .bare_names = true};
    }
    any_text_ = builder_.Repeat(builder_.Chars(CharSet::OfRange(0, 0x10FFFF)), 0, kNoLimit);
    n_more_ = offered.at("parallel").as_bool() ? kNoLimit : 0;
  }

  Result<std::shared_ptr<const Grammar>> Build() && {
    std::vector<Symbol> calls;
    for (const json::value& tool : offered_.at("tools").as_array()) {
      LATTICE_TRY(calls.emplace_back(), CallOf(tool));
    }
    const Symbol call = builder_.Choice(calls);
    return std::move(builder_).Build(Answer(call));
  }

 private:
  bool IsControl(std::string_view mark) const {
    const json::value* control = offered_.if_contains("control_marks");
    return control != nullptr &&
           std::ranges::find(control->as_array(), json::value(mark)) != control->as_array().end();
  }
  // A mark that is a token of its own is told from its text by this byte.
  std::string Mark(std::string_view mark) const {
    return (IsControl(mark) ? kControlByte : "") + std::string(mark);
  }

  Result<Symbol> CallOf(const json::value& tool) {
    const std::string name(tool.at("name").as_string());
    auto arguments = ArgumentsOf(tool);
    if (!arguments) {
      return Error{arguments.error().code, "'" + name + "': " + arguments.error().message};
    }
    if (form_ == "gemma") return builder_.Sequence({builder_.Text("call:" + name), *arguments});
    if (form_ == "xml") {
      return builder_.Sequence(
          {builder_.Text("<function=" + name + ">\n"), *arguments, builder_.Text("</function>")});
    }
    if (IsNamed()) {
      const Expr letter = builder_.Chars(
          CharSet::OfText("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"));
      const Symbol id = builder_.Sequence(
          {builder_.Text(Mark("[CALL_ID]")), builder_.Terminal(builder_.Repeat(letter, 9, 9))});
      return builder_.Sequence({builder_.Text(name),
                                IsControl("[CALL_ID]") ? builder_.Optional(id) : builder_.Nil(),
                                builder_.Text(Mark("[ARGS]")), *arguments});
    }
    const std::string key = form_ == "llama" ? "parameters" : "arguments";
    return builder_.Sequence({builder_.Text("{\"name\": \"" + name + "\", \"" + key + "\": "),
                              *arguments, builder_.Text("}")});
  }

  // Mistral's models write a list of calls in JSON, or, where they have this mark, names before it.
  bool IsNamed() const { return form_ == "mistral" && IsControl("[ARGS]"); }

  Result<Symbol> ArgumentsOf(const json::value& tool) {
    const GrammarBuilder::Mark before = builder_.Now();
    auto enforced = Enforced(tool);
    if (enforced || tool.at("strict").as_bool()) return enforced;
    builder_.RollBack(before);
    return AnyArguments();
  }

  Result<Symbol> Enforced(const json::value& tool) {
    const json::value schema = ObjectSchema(tool.at("parameters"));
    Symbol arguments;
    if (form_ == "xml") {
      LATTICE_TRY(arguments,
                  AddMarkedArguments(builder_, schema, tool.at("types").as_object(), options_));
    } else {
      LATTICE_TRY(arguments, AddJsonSchema(builder_, schema, options_));
    }
    LATTICE_TRY(const bool some, builder_.MatchesSomething(arguments));
    if (builder_.failed()) return *builder_.error();
    if (!some) return Error{ErrorCode::kInvalidArgument, "#: no arguments satisfy the parameters"};
    return arguments;
  }

  Result<Symbol> AnyArguments() {
    if (any_arguments_) return *any_arguments_;
    if (form_ == "xml") {
      any_arguments_ = AddAnyMarkedArguments(builder_);
    } else {
      LATTICE_TRY(any_arguments_,
                  AddJsonSchema(builder_, json::object{{"type", "object"}}, options_));
    }
    return *any_arguments_;
  }

  Symbol Answer(Symbol call) {
    if (form_ == "llama") return Llama(call);
    if (form_ == "mistral") return Mistral(call);
    if (form_ == "gemma") {
      const Symbol whole = builder_.Sequence({call, builder_.Text(Mark("<tool_call|>"))});
      return TextOrCalls("<|tool_call>", {}, whole, "");
    }
    if (form_ == "call") return call;
    const Symbol whole =
        builder_.Sequence({builder_.Text("\n"), call, builder_.Text("\n" + Mark("</tool_call>"))});
    if (form_ == "xml") return TextOrCalls("<tool_call>", {"<function="}, whole, "\n");
    return TextOrCalls("<tool_call>", {}, whole, "\n");
  }

  // Texts with one of these in them.
  Expr With(std::initializer_list<std::string_view> parts) {
    std::vector<Expr> literals;
    for (const std::string_view part : parts) literals.push_back(builder_.Literal(part));
    return builder_.Concat({builder_.AnyText(), builder_.Or(literals), builder_.AnyText()});
  }

  // Text without any mark, or up to the first one and then calls. The text and its mark are one
  // terminal: it ends with the mark and has no other.
  Symbol TextOrCalls(std::string_view mark, std::initializer_list<std::string_view> other_marks,
                     Symbol whole, std::string_view between) {
    const Expr any = builder_.AnyText();
    const Expr literal = builder_.Literal(mark);
    Expr without = any_text_;
    if (other_marks.size() > 0) without = builder_.Minus(without, With(other_marks));
    const Expr text = builder_.Minus(without, With({mark}));
    Expr text_and_mark = builder_.Concat({text, builder_.Literal(Mark(mark))});
    if (!IsControl(mark)) {
      const Expr more = builder_.Concat({any, literal, builder_.Byte(0, 255), any});
      text_and_mark = builder_.Minus(builder_.Concat({without, literal}), more);
    }
    const Symbol another =
        builder_.Sequence({builder_.Text(std::string(between) + Mark(mark)), whole});
    return builder_.Choice(
        {builder_.Terminal(text), builder_.Sequence({builder_.Terminal(text_and_mark), whole,
                                                     builder_.Repeat(another, 0, n_more_)})});
  }

  Symbol Mistral(Symbol call) {
    if (IsNamed()) return TextOrCalls("[TOOL_CALLS]", {}, call, "");
    const Symbol another = builder_.Sequence({builder_.Text(", "), call});
    const Symbol list =
        builder_.Sequence({builder_.Optional(builder_.Text(" ")), builder_.Text("["), call,
                           builder_.Repeat(another, 0, n_more_), builder_.Text("]")});
    n_more_ = 0;
    return TextOrCalls("[TOOL_CALLS]", {}, list, "");
  }

  Symbol Llama(Symbol call) {
    std::vector<Expr> keys;
    for (const char* key : {"name", "type", "function", "parameters", "arguments"}) {
      keys.push_back(builder_.Literal(key));
    }
    const Expr space = builder_.Repeat(builder_.Chars(CharSet::OfText(" \t\r\n")), 0, kNoLimit);
    const Expr begins =
        builder_.Concat({space, builder_.Literal("{"), space, builder_.Literal("\""),
                         builder_.Or(keys), builder_.Literal("\""), builder_.AnyText()});
    const Symbol another = builder_.Sequence({builder_.Text("; "), call});
    const Expr is_call = builder_.Or({begins, With({"<|python_tag|>"})});
    return builder_.Choice({builder_.Terminal(builder_.Minus(any_text_, is_call)),
                            builder_.Sequence({call, builder_.Repeat(another, 0, n_more_)})});
  }

  const json::object& offered_;
  std::string_view form_;
  GrammarBuilder builder_;
  JsonSchemaOptions options_;
  Expr any_text_;
  std::uint32_t n_more_ = 0;
  std::optional<Symbol> any_arguments_;
};

}  // namespace

Result<std::shared_ptr<const Grammar>> CompileToolCalls(std::string_view offered,
                                                        const GrammarLimits& limits) {
  LATTICE_TRY(const json::value document, ParseJson(offered, kMaxDepth));
  return CallRules(document.as_object(), limits).Build();
}

}  // namespace lattice::grammar
