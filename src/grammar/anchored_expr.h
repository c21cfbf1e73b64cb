#pragma once

#include <array>
#include <span>

#include "grammar/grammar.h"

namespace lattice::grammar {

/// An expression in which ^ and $ occur: what it matches depends on where it stands. By whether its
/// match begins where the text begins ([0] no, [1] yes) and ends where the text ends: the non-empty
/// texts, and whether the empty one matches.
struct AnchoredExpr {
  struct Case {
    Expr nonempty;
    bool nullable = false;
  };
  std::array<std::array<Case, 2>, 2> at;
  bool has_anchor = false;
  Expr plain = {};  ///< The whole, when there is no anchor.
};

/// Builds them. Without anchors the work is that of the builder alone.
class AnchoredBuilder {
 public:
  explicit AnchoredBuilder(GrammarBuilder& builder) : builder_(builder) {}

  /// nonempty  what `e` matches but for the empty text.
  AnchoredExpr Plain(Expr e, Expr nonempty, bool nullable);
  AnchoredExpr Empty() { return Plain(builder_.EmptyText(), builder_.Nothing(), true); }
  AnchoredExpr One(Expr e) { return Plain(e, e, false); }  ///< Never empty.
  AnchoredExpr Start();
  AnchoredExpr End();
  AnchoredExpr Concat(const AnchoredExpr& a, const AnchoredExpr& b);
  AnchoredExpr Or(std::span<const AnchoredExpr> choices);
  /// e has no anchors, or max is 1.
  AnchoredExpr Repeat(const AnchoredExpr& e, std::uint32_t min, std::uint32_t max);
  /// What matches as the whole of a text.
  Expr Whole(const AnchoredExpr& e);

 private:
  GrammarBuilder& builder_;
};

}  // namespace lattice::grammar
