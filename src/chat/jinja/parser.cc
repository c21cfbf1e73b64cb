#include "chat/jinja/parser.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "chat/jinja/expression_parser.h"
#include "chat/jinja/token_stream.h"

namespace lattice::chat::jinja {
namespace {

/// Parses statements; expressions are the other parser's.
class StatementParser {
 public:
  StatementParser(std::vector<Token> tokens, const Limits& limits)
      : tokens_(std::move(tokens)), expressions_(tokens_, symbols_, limits) {}

  Result<std::shared_ptr<const Program>> Run() {
    auto program = std::make_shared<Program>();
    program->loop = symbols_.Of("loop");
    program->caller = symbols_.Of("caller");
    program->varargs = symbols_.Of("varargs");
    program->kwargs = symbols_.Of("kwargs");
    LATTICE_TRY(program->body, ParseBody({}));
    program->symbols = std::move(symbols_).Take();
    return std::shared_ptr<const Program>(std::move(program));
  }

 private:
  using Ends = std::initializer_list<std::string_view>;

  // Statements up to a tag that is one of `ends`, whose name is not passed; with no `ends`, up to
  // the end of the template.
  Result<Body> ParseBody(Ends ends) {
    const ExpressionParser::Nesting nesting(expressions_);
    LATTICE_TRY_VOID(expressions_.CheckNesting());
    Body body;
    while (true) {
      Stmt stmt;
      stmt.line = tokens_.line();
      if (tokens_.Is(TokenKind::kEnd)) {
        if (ends.size() == 0) return body;
        return tokens_.Complain("unexpected end of template, expected '" +
                                std::string(*std::rbegin(ends)) + "'");
      }
      if (tokens_.Is(TokenKind::kData)) {
        stmt.data = Text(tokens_.Next().text);
      } else if (tokens_.Is(TokenKind::kOutputBegin)) {
        tokens_.Next();
        stmt.kind = StmtKind::kOutput;
        LATTICE_TRY(stmt.expr, expressions_.ParseTuple());
        LATTICE_TRY_VOID(tokens_.Expect(TokenKind::kOutputEnd, "'}}'"));
      } else {
        LATTICE_TRY_VOID(tokens_.Expect(TokenKind::kBlockBegin, "a tag"));
        const auto is_current = [&](std::string_view end) { return tokens_.IsName(end); };
        if (std::any_of(ends.begin(), ends.end(), is_current)) return body;
        LATTICE_TRY_VOID(ParseStatement(stmt));
      }
      body.push_back(std::move(stmt));
    }
  }

  Status EndTag() { return tokens_.Expect(TokenKind::kBlockEnd, "'%}'"); }

  // `%}`, statements, and the tag `end` whole.
  Result<Body> ParseBlock(std::string_view end) {
    LATTICE_TRY_VOID(EndTag());
    LATTICE_TRY(Body body, ParseBody({end}));
    tokens_.Next();
    LATTICE_TRY_VOID(EndTag());
    return body;
  }

  Status ParseStatement(Stmt& stmt) {
    using Parse = Status (StatementParser::*)(Stmt&);
    static constexpr std::pair<std::string_view, Parse> kStatements[] = {
        {"if", &StatementParser::ParseIf},
        {"for", &StatementParser::ParseFor},
        {"set", &StatementParser::ParseSet},
        {"macro", &StatementParser::ParseMacro},
        {"call", &StatementParser::ParseCallBlock},
        {"filter", &StatementParser::ParseFilterBlock},
        {"with", &StatementParser::ParseWith},
        {"generation", &StatementParser::ParseGeneration},
        {"break", &StatementParser::ParseBreak},
        {"continue", &StatementParser::ParseContinue},
    };
    if (!tokens_.Is(TokenKind::kName)) return tokens_.Expected("the name of a tag");
    const std::string name = tokens_.current().text;
    for (const auto& [known, parse] : kStatements) {
      if (name == known) {
        tokens_.Next();
        return (this->*parse)(stmt);
      }
    }
    for (const std::string_view other : {"include", "import", "from", "extends", "block"}) {
      if (name != other) continue;
      return Error{ErrorCode::kUnsupported, "line " + std::to_string(tokens_.line()) + ": '" +
                                                name + "': a chat template stands alone"};
    }
    return tokens_.Complain("unknown tag '" + name + "'");
  }

  Status ParseIf(Stmt& stmt) {
    stmt.kind = StmtKind::kIf;
    while (true) {
      Branch branch;
      LATTICE_TRY(branch.condition, expressions_.ParseTuple(/*with_conditional=*/false));
      LATTICE_TRY_VOID(EndTag());
      LATTICE_TRY(branch.body, ParseBody({"elif", "else", "endif"}));
      stmt.branches.push_back(std::move(branch));
      if (tokens_.SkipName("elif")) continue;
      if (tokens_.SkipName("else")) {
        LATTICE_TRY_VOID(EndTag());
        LATTICE_TRY(stmt.other, ParseBody({"endif"}));
      }
      tokens_.Next();
      return EndTag();
    }
  }

  Status ParseFor(Stmt& stmt) {
    stmt.kind = StmtKind::kFor;
    LATTICE_TRY(stmt.target, ParseTarget(/*with_attribute=*/false));
    if (!tokens_.SkipName("in")) return tokens_.Expected("'in'");
    LATTICE_TRY(stmt.expr, expressions_.ParseTuple(/*with_conditional=*/false));
    if (tokens_.SkipName("if")) {
      LATTICE_TRY(stmt.condition, expressions_.ParseExpression());
    }
    stmt.recursive = tokens_.SkipName("recursive");
    LATTICE_TRY_VOID(EndTag());
    ++loop_level_;
    LATTICE_TRY(stmt.body, ParseBody({"else", "endfor"}));
    --loop_level_;
    if (tokens_.SkipName("else")) {
      LATTICE_TRY_VOID(EndTag());
      LATTICE_TRY(stmt.other, ParseBody({"endfor"}));
    }
    tokens_.Next();
    return EndTag();
  }

  Status ParseBreak(Stmt& stmt) {
    stmt.kind = StmtKind::kBreak;
    if (loop_level_ == 0) return tokens_.Complain("'break' outside of a loop");
    return EndTag();
  }

  Status ParseContinue(Stmt& stmt) {
    stmt.kind = StmtKind::kContinue;
    if (loop_level_ == 0) return tokens_.Complain("'continue' outside of a loop");
    return EndTag();
  }

  Status ParseSet(Stmt& stmt) {
    LATTICE_TRY(stmt.target, ParseTarget(/*with_attribute=*/true));
    if (tokens_.SkipOperator("=")) {
      stmt.kind = StmtKind::kSet;
      LATTICE_TRY(stmt.expr, expressions_.ParseTuple());
      return EndTag();
    }
    stmt.kind = StmtKind::kSetBlock;
    LATTICE_TRY(stmt.expr, expressions_.ParseFilters(nullptr));
    LATTICE_TRY(stmt.body, ParseBlock("endset"));
    return Ok();
  }

  // name, name.attribute, (a, b), a, b
  Result<Target> ParseTarget(bool with_attribute) {
    LATTICE_TRY(Target first, ParseOneTarget(with_attribute));
    if (!tokens_.IsOperator(",")) return first;
    Target tuple;
    tuple.members.push_back(std::move(first));
    while (tokens_.SkipOperator(",")) {
      if (tokens_.IsName("in") || tokens_.IsOperator("=") || tokens_.IsOperator(")")) break;
      LATTICE_TRY(Target next, ParseOneTarget(with_attribute));
      tuple.members.push_back(std::move(next));
    }
    return tuple;
  }

  Result<Target> ParseOneTarget(bool with_attribute) {
    if (tokens_.SkipOperator("(")) {
      const ExpressionParser::Nesting nesting(expressions_);
      LATTICE_TRY_VOID(expressions_.CheckNesting());
      LATTICE_TRY(Target inside, ParseTarget(with_attribute));
      LATTICE_TRY_VOID(tokens_.ExpectOperator(")"));
      return inside;
    }
    Target target;
    LATTICE_TRY(const std::string name, tokens_.ExpectName());
    for (const std::string_view constant : {"true", "false", "none", "True", "False", "None"}) {
      if (name == constant) return tokens_.Complain("cannot assign to '" + name + "'");
    }
    target.symbol = symbols_.Of(name);
    if (with_attribute && tokens_.SkipOperator(".")) {
      LATTICE_TRY(target.attribute, tokens_.ExpectName());
    }
    return target;
  }

  // (name, name=default, ...)
  Status ParseParameters(Stmt& stmt) {
    LATTICE_TRY_VOID(tokens_.ExpectOperator("("));
    while (!tokens_.SkipOperator(")")) {
      if (!stmt.parameters.empty()) LATTICE_TRY_VOID(tokens_.ExpectOperator(","));
      Parameter parameter;
      LATTICE_TRY(parameter.name, tokens_.ExpectName());
      parameter.symbol = symbols_.Of(parameter.name);
      if (tokens_.SkipOperator("=")) {
        LATTICE_TRY(parameter.fallback, expressions_.ParseExpression());
      } else if (!stmt.parameters.empty() && stmt.parameters.back().fallback != nullptr) {
        return tokens_.Complain("a parameter without default follows one with a default");
      }
      stmt.parameters.push_back(std::move(parameter));
    }
    return Ok();
  }

  // A body that runs as a macro: loops around it are not its own.
  Status ParseMacroBody(Stmt& stmt, std::string_view end) {
    const auto before = expressions_.special_uses();
    const std::size_t loop_level = std::exchange(loop_level_, 0);
    LATTICE_TRY(stmt.body, ParseBlock(end));
    loop_level_ = loop_level;
    const auto& after = expressions_.special_uses();
    stmt.uses_caller = after.caller > before.caller;
    stmt.uses_varargs = after.varargs > before.varargs;
    stmt.uses_kwargs = after.kwargs > before.kwargs;
    return Ok();
  }

  Status ParseMacro(Stmt& stmt) {
    stmt.kind = StmtKind::kMacro;
    LATTICE_TRY(stmt.name, tokens_.ExpectName());
    stmt.target.symbol = symbols_.Of(stmt.name);
    LATTICE_TRY_VOID(ParseParameters(stmt));
    return ParseMacroBody(stmt, "endmacro");
  }

  Status ParseCallBlock(Stmt& stmt) {
    stmt.kind = StmtKind::kCallBlock;
    stmt.name = "caller";
    if (tokens_.IsOperator("(")) LATTICE_TRY_VOID(ParseParameters(stmt));
    LATTICE_TRY(stmt.expr, expressions_.ParseExpression());
    if (stmt.expr->kind != ExprKind::kCall) return tokens_.Complain("expected a call");
    return ParseMacroBody(stmt, "endcall");
  }

  Status ParseFilterBlock(Stmt& stmt) {
    stmt.kind = StmtKind::kFilterBlock;
    LATTICE_TRY(stmt.expr, expressions_.ParseBareFilters());
    LATTICE_TRY(stmt.body, ParseBlock("endfilter"));
    return Ok();
  }

  Status ParseWith(Stmt& stmt) {
    stmt.kind = StmtKind::kWith;
    while (!tokens_.Is(TokenKind::kBlockEnd)) {
      if (!stmt.assignments.empty()) LATTICE_TRY_VOID(tokens_.ExpectOperator(","));
      LATTICE_TRY(Target target, ParseOneTarget(/*with_attribute=*/false));
      LATTICE_TRY_VOID(tokens_.ExpectOperator("="));
      LATTICE_TRY(ExprPtr value, expressions_.ParseExpression());
      stmt.assignments.emplace_back(std::move(target), std::move(value));
    }
    LATTICE_TRY(stmt.body, ParseBlock("endwith"));
    return Ok();
  }

  Status ParseGeneration(Stmt& stmt) {
    stmt.kind = StmtKind::kScope;
    LATTICE_TRY(stmt.body, ParseBlock("endgeneration"));
    return Ok();
  }

  TokenStream tokens_;
  SymbolTable symbols_;
  ExpressionParser expressions_;
  std::size_t loop_level_ = 0;
};

}  // namespace

Result<std::shared_ptr<const Program>> Parse(std::string_view source, const Limits& limits) {
  LATTICE_TRY(std::vector<Token> tokens, Tokenize(source, limits));
  return StatementParser(std::move(tokens), limits).Run();
}

}  // namespace lattice::chat::jinja
