#include "grammar/json_schema/tool_calls.h"

#include <boost/json/object.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "grammar/json_schema/json_schema.h"

namespace lattice::grammar {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxDepth = 210;
constexpr std::string_view kBegin = "<tool_call>", kEnd = "</tool_call>";

// Whatever a schema says, arguments are an object.
json::value ObjectSchema(const json::value& parameters) {
  json::object schema;
  if (const auto* given = parameters.if_object()) schema = *given;
  schema["type"] = "object";
  return schema;
}

class CallRules {
 public:
  explicit CallRules(const GrammarLimits& limits) : builder_(limits) {
    options_.spaced = true;
    options_.limits = limits;
    any_text_ = builder_.Repeat(builder_.Chars(CharSet::OfRange(0, 0x10FFFF)), 0, kNoLimit);
  }

  Result<std::shared_ptr<const Grammar>> Build(const json::object& offered) && {
    const std::string_view form(offered.at("form").as_string());
    const json::array& tools = offered.at("tools").as_array();
    LATTICE_TRY(const Symbol call, AnyCall(tools, form == "llama" ? "parameters" : "arguments"));
    const std::uint32_t n_more = offered.at("parallel").as_bool() ? kNoLimit : 0;
    Symbol root = call;
    if (form == "hermes") root = Hermes(call, n_more);
    if (form == "llama") root = Llama(call, n_more);
    return std::move(builder_).Build(root);
  }

 private:
  Result<Symbol> AnyCall(const json::array& tools, std::string_view arguments_key) {
    std::vector<Symbol> calls;
    for (const json::value& tool : tools) {
      const std::string name(tool.at("name").as_string());
      auto arguments = ArgumentsOf(tool);
      if (!arguments) {
        return Error{arguments.error().code, "'" + name + "': " + arguments.error().message};
      }
      calls.push_back(builder_.Sequence(
          {builder_.Text("{\"name\": \"" + name + "\", \"" + std::string(arguments_key) + "\": "),
           *arguments, builder_.Text("}")}));
    }
    return builder_.Choice(calls);
  }

  Result<Symbol> ArgumentsOf(const json::value& tool) {
    const json::value schema = ObjectSchema(tool.at("parameters"));
    // Tried apart: what fails leaves a builder of no use, and a tool that nobody can call is no
    // error among others.
    const auto alone = CompileJsonSchema(schema, options_);
    if (alone) return AddJsonSchema(builder_, schema, options_);
    if (tool.at("strict").as_bool()) return alone.error();
    return AddJsonSchema(builder_, json::object{{"type", "object"}}, options_);
  }

  // The text and the first mark are one terminal: it ends with the mark and has no other.
  Symbol Hermes(Symbol call, std::uint32_t n_more) {
    const Expr mark = builder_.Literal(kBegin);
    const Expr any = builder_.AnyText();
    const Expr byte = builder_.Byte(0, 255);
    const Expr text = builder_.Minus(any_text_, builder_.Concat({any, mark, any}));
    const Expr text_and_mark =
        builder_.Minus(builder_.Concat({any_text_, mark}), builder_.Concat({any, mark, byte, any}));
    const Symbol whole =
        builder_.Sequence({builder_.Text("\n"), call, builder_.Text("\n" + std::string(kEnd))});
    const Symbol another = builder_.Sequence({builder_.Text("\n" + std::string(kBegin)), whole});
    return builder_.Choice(
        {builder_.Terminal(text), builder_.Sequence({builder_.Terminal(text_and_mark), whole,
                                                     builder_.Repeat(another, 0, n_more)})});
  }

  Symbol Llama(Symbol call, std::uint32_t n_more) {
    std::vector<Expr> keys;
    for (const char* key : {"name", "type", "function", "parameters", "arguments"}) {
      keys.push_back(builder_.Literal(key));
    }
    const Expr space = builder_.Repeat(builder_.Chars(CharSet::OfText(" \t\r\n")), 0, kNoLimit);
    const Expr begins =
        builder_.Concat({space, builder_.Literal("{"), space, builder_.Literal("\""),
                         builder_.Or(keys), builder_.Literal("\""), builder_.AnyText()});
    const Symbol another = builder_.Sequence({builder_.Text("; "), call});
    return builder_.Choice({builder_.Terminal(builder_.Minus(any_text_, begins)),
                            builder_.Sequence({call, builder_.Repeat(another, 0, n_more)})});
  }

  GrammarBuilder builder_;
  JsonSchemaOptions options_;
  Expr any_text_;
};

}  // namespace

Result<std::shared_ptr<const Grammar>> CompileToolCalls(std::string_view offered,
                                                        const GrammarLimits& limits) {
  LATTICE_TRY(const json::value document, ParseJson(offered, kMaxDepth));
  return CallRules(limits).Build(document.as_object());
}

}  // namespace lattice::grammar
