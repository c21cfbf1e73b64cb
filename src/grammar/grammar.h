#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/char_set.h"
#include "grammar/emptiness.h"
#include "grammar/expr_pool.h"
#include "lattice/result.h"

namespace lattice::grammar {

/// "No upper bound" of a repetition.
inline constexpr std::uint32_t kNoLimit = UINT32_MAX;

/// What one grammar may cost. Past a limit GrammarBuilder::Build says kResourceExhausted.
struct GrammarLimits {
  std::size_t max_expressions = 1'000'000;    ///< Nodes of all regular expressions together.
  std::size_t max_symbols = 1'000'000;        ///< Symbols on the right sides of all rules together.
  std::size_t max_expression_depth = 400;     ///< Nesting of one regular expression.
  std::size_t max_states_to_decide = 20'000;  ///< To tell whether an And or Not matches anything.
  std::uint64_t max_work = 20'000'000;        ///< Steps, as ExprPool counts them.
};

/// A regular expression over bytes; a handle of the builder that made it.
struct Expr {
  ExprId id = 0;
  friend bool operator==(Expr, Expr) = default;
};

/// A piece of a text's structure: a terminal, a rule, or what is composed of them; a handle of the
/// builder that made it.
struct Symbol {
  std::uint32_t id = 0;
  friend bool operator==(Symbol, Symbol) = default;
};

/// A part of SeparatedSequence: `min` to `max` times `symbol`.
struct SequencePart {
  Symbol symbol;
  std::uint32_t min = 1;
  std::uint32_t max = 1;
};

/// A compiled grammar: immutable, shared by any number of texts and threads. Made by
/// GrammarBuilder::Build; read by the automaton of this room, and by nobody else.
class Grammar {
 public:
  struct Step {
    enum class Kind : std::uint8_t { kTerminal, kRule, kEnd };
    Kind kind;
    bool nullable;         ///< What stands here may be empty.
    std::uint32_t target;  ///< The terminal's expression, the rule that is used or that ends.
  };
  struct RuleInfo {
    std::vector<std::uint32_t> starts;  ///< The first step of each alternative.
    bool nullable = false;
    bool is_repeat = false;  ///< One alternative of one step and its end: min to max times.
    std::uint32_t min = 1;
    std::uint32_t max = 1;
  };

  Grammar(ExprPool pool, std::vector<Step> steps, std::vector<RuleInfo> rules)
      : pool_(std::move(pool)), steps_(std::move(steps)), rules_(std::move(rules)) {}

  const ExprPool& pool() const { return pool_; }
  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<RuleInfo>& rules() const { return rules_; }  ///< The first one is the root.
  /// About what it holds in memory.
  std::size_t n_bytes() const;

 private:
  ExprPool pool_;
  std::vector<Step> steps_;
  std::vector<RuleInfo> rules_;
};

/// Builds a grammar: the intermediate representation to which all front ends (regex, GBNF, JSON
/// Schema) translate. Two layers:
///
/// - `Expr`: regular expressions over bytes, with intersection and complement. They run as lazily
///   built DFAs and are cheap: let a lexeme (a whole JSON string with its quotes, a number, all
///   values of an enum) be one Expr.
/// - `Symbol`: context-free structure over such lexemes. No restriction: ambiguous, left recursive,
///   nullable and cyclic rules all work. There is no longest match and no lexer in between: the
///   language of a sequence is the concatenation of the languages of its parts, byte by byte. White
///   space is not special: put a terminal for it where it may stand.
///
/// Repetition is a counter in both layers ({2,100000} costs what {2,3} costs) and never expanded.
///
///     GrammarBuilder b;
///     const Expr digits = b.Repeat(b.Chars(CharSet::OfRange('0', '9')), 1, kNoLimit);
///     const Symbol list = b.Rule("list");
///     b.Define(list, b.Sequence({b.Text("["), b.Optional(b.Choice({b.Terminal(digits), list})),
///                                b.Text("]")}));
///     LATTICE_TRY(std::shared_ptr<const Grammar> grammar, std::move(b).Build(list));
///
/// No call fails by itself: the first error (a limit, min > max, ...) is kept, calls go on with
/// harmless values, and Build returns it. Equal expressions have equal handles, so `==` is cheap.
class GrammarBuilder {
 public:
  explicit GrammarBuilder(const GrammarLimits& limits = {});

  // ---- regular expressions ----
  Expr Nothing() { return {kEmptySet}; }             ///< Matches no text at all.
  Expr EmptyText() { return {kEmptyText}; }          ///< Matches the empty text alone.
  Expr Literal(std::string_view bytes);              ///< These bytes (need not be UTF-8).
  Expr Byte(std::uint8_t first, std::uint8_t last);  ///< One byte of a range.
  Expr Chars(const CharSet& set);                    ///< One character, as UTF-8.
  Expr AnyText() { return {kAnyBytes}; }             ///< Any sequence of bytes.
  Expr Concat(std::span<const Expr> parts);
  Expr Concat(std::initializer_list<Expr> parts) { return Concat(Span(parts)); }
  Expr Or(std::span<const Expr> choices);  ///< Nothing() when empty.
  Expr Or(std::initializer_list<Expr> choices) { return Or(Span(choices)); }
  Expr And(std::span<const Expr> all);  ///< Texts that all match; AnyText() when empty.
  Expr And(std::initializer_list<Expr> all) { return And(Span(all)); }
  Expr Not(Expr e);  ///< All byte sequences that e does not match.
  /// "Any string but these names" is best said so: the mask is that of any string, changed along
  /// the names alone, where a tree of the names with ways out of it is walked with all tokens.
  Expr Minus(Expr e, Expr without) { return And({e, Not(without)}); }
  Expr Repeat(Expr e, std::uint32_t min, std::uint32_t max);  ///< max may be kNoLimit.
  Expr Optional(Expr e) { return Repeat(e, 0, 1); }
  Expr HostNames() { return Made(pool_.HostNames()); }  ///< See HostName.
  /// Whether any text matches at all; needed only for expressions with And or Not, and exact then
  /// too. kResourceExhausted when that takes too many states to tell.
  Result<bool> MatchesSomething(Expr e);
  /// Whether the whole of `bytes` matches. Time and memory grow with the text's length.
  bool Matches(Expr e, std::string_view bytes);

  // ---- structure ----
  Symbol Terminal(Expr e);
  Symbol Text(std::string_view literal) { return Terminal(Literal(literal)); }
  Symbol Nil() { return Sequence(std::span<const Symbol>{}); }  ///< The empty text.
  Symbol Never() { return Choice(std::span<const Symbol>{}); }  ///< No text.
  Symbol Sequence(std::span<const Symbol> parts);
  Symbol Sequence(std::initializer_list<Symbol> parts) { return Sequence(Span(parts)); }
  Symbol Choice(std::span<const Symbol> choices);
  Symbol Choice(std::initializer_list<Symbol> choices) { return Choice(Span(choices)); }
  Symbol Repeat(Symbol s, std::uint32_t min, std::uint32_t max);  ///< max may be kNoLimit.
  Symbol Optional(Symbol s) { return Repeat(s, 0, 1); }
  /// The parts in order, with `separator` between any two things that stand there, and none before
  /// the first or after the last. An object's members are parts with {0,1} (optional) or {1,1}
  /// (required) for declared properties and {0,kNoLimit} for additional ones; an array is
  /// prefixItems with {1,1} and then its items with {min,max}. Its size is linear in the parts.
  Symbol SeparatedSequence(std::span<const SequencePart> parts, Symbol separator);
  /// A rule to be defined (once) later: for recursion. The name is for messages.
  Symbol Rule(std::string_view name);
  void Define(Symbol rule, Symbol body);

  /// For a front end's own findings (unsupported keywords): kept like the builder's own.
  void Fail(Error error);
  bool failed() const { return error_.has_value(); }
  const std::optional<Error>& error() const { return error_; }

  /// What was made up to here.
  struct Mark {
    std::size_t n_expressions, n_nodes, n_children, n_names;
    std::uint64_t work_left;
  };
  Mark Now() const;
  /// As if nothing had been made since, errors and what it cost included. Handles made since are of
  /// no more use, nor are rules of before that were defined since.
  void RollBack(const Mark& mark);

  /// The grammar of `root`. Rules that can match no text are left out. Errors: the first one kept;
  /// kInvalidArgument names a rule that was never defined, or says that no text matches `root`.
  Result<std::shared_ptr<const Grammar>> Build(Symbol root) &&;
  /// Whether some text matches. Rules that are not defined match none.
  Result<bool> MatchesSomething(Symbol symbol);

 private:
  friend class RuleCompiler;
  enum class NodeKind : std::uint8_t { kTerminal, kSequence, kChoice, kRepeat, kRule };
  struct Node {
    NodeKind kind;
    std::uint32_t a = 0;  // expression; first child in children_; the repeated symbol; rule's body
    std::uint32_t n = 0;  // number of children; of a rule, its name
    std::uint32_t min = 0;
    std::uint32_t max = 0;
  };
  static constexpr std::uint32_t kUndefined = UINT32_MAX;

  template <typename T>
  static std::span<const T> Span(std::initializer_list<T> list) {
    return {list.begin(), list.size()};
  }
  /// The nodes that one is made of; of a rule that is not defined none.
  std::span<const std::uint32_t> ChildrenOf(const Node& node) const;
  Symbol AddNode(const Node& node);
  Symbol AddList(NodeKind kind, std::span<const Symbol> children);
  std::vector<ExprId> Ids(std::span<const Expr> exprs);
  Expr Made(ExprId id);
  Symbol After(const SequencePart& part, Symbol separator, std::uint32_t n_before);

  GrammarLimits limits_;
  ExprPool pool_;
  Emptiness emptiness_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> children_;
  std::vector<std::string> names_;
  std::optional<Error> error_;
};

}  // namespace lattice::grammar
