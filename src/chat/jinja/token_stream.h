#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/jinja/lexer.h"

namespace lattice::chat::jinja {

/// Tokens with a place in them; the last one, kEnd, is never passed.
class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& Peek() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  std::uint32_t line() const { return current().line; }

  Token Next() {
    if (at_ + 1 == tokens_.size()) return current();
    return tokens_[at_++];
  }

  bool Is(TokenKind kind) const { return current().kind == kind; }
  bool IsOperator(std::string_view op) const {
    return Is(TokenKind::kOperator) && current().text == op;
  }
  bool IsName(std::string_view name) const {
    return Is(TokenKind::kName) && current().text == name;
  }
  bool SkipOperator(std::string_view op) { return Skip(IsOperator(op)); }
  bool SkipName(std::string_view name) { return Skip(IsName(name)); }

  /// kCorruptData with the line of the current token.
  Error Complain(std::string_view what) const {
    return Error{ErrorCode::kCorruptData,
                 "line " + std::to_string(line()) + ": " + std::string(what)};
  }
  Error Expected(std::string_view what) const {
    return Complain("expected " + std::string(what) + ", found " + Describe(current()));
  }

  Status ExpectOperator(std::string_view op) {
    if (SkipOperator(op)) return Ok();
    return Expected("'" + std::string(op) + "'");
  }
  Status Expect(TokenKind kind, std::string_view what) {
    if (Skip(Is(kind))) return Ok();
    return Expected(what);
  }
  Result<std::string> ExpectName() {
    if (!Is(TokenKind::kName)) return Expected("a name");
    return Next().text;
  }

 private:
  static std::string Describe(const Token& token) {
    switch (token.kind) {
      case TokenKind::kData:
        return "text";
      case TokenKind::kOutputBegin:
        return "'{{'";
      case TokenKind::kOutputEnd:
        return "'}}'";
      case TokenKind::kBlockBegin:
        return "'{%'";
      case TokenKind::kBlockEnd:
        return "'%}'";
      case TokenKind::kString:
        return "a string";
      case TokenKind::kEnd:
        return "the end of the template";
      case TokenKind::kName:
      case TokenKind::kInteger:
      case TokenKind::kFloat:
      case TokenKind::kOperator:
        break;
    }
    return "'" + token.text + "'";
  }

  bool Skip(bool matches) {
    if (matches) Next();
    return matches;
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace lattice::chat::jinja
