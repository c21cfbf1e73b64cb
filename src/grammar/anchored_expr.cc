#include "grammar/anchored_expr.h"

#include <cstddef>
#include <vector>

namespace lattice::grammar {

AnchoredExpr AnchoredBuilder::Plain(Expr e, Expr nonempty, bool nullable) {
  AnchoredExpr made;
  for (auto& row : made.at) row.fill({nonempty, nullable});
  made.plain = e;
  return made;
}

AnchoredExpr AnchoredBuilder::Start() {
  AnchoredExpr made = Plain(builder_.Nothing(), builder_.Nothing(), false);
  made.has_anchor = true;
  for (auto& c : made.at[1]) c.nullable = true;
  return made;
}

AnchoredExpr AnchoredBuilder::End() {
  AnchoredExpr made = Plain(builder_.Nothing(), builder_.Nothing(), false);
  made.has_anchor = true;
  for (auto& row : made.at) row[1].nullable = true;
  return made;
}

AnchoredExpr AnchoredBuilder::Concat(const AnchoredExpr& a, const AnchoredExpr& b) {
  AnchoredExpr made;
  made.has_anchor = a.has_anchor || b.has_anchor;
  if (!made.has_anchor) {
    const auto& x = a.at[0][0];
    const auto& y = b.at[0][0];
    Expr nonempty = builder_.Concat({a.plain, b.plain});
    const bool nullable = x.nullable && y.nullable;
    if (nullable) {
      nonempty = builder_.Or({builder_.Concat({x.nonempty, b.plain}), y.nonempty});
    }
    return Plain(builder_.Concat({a.plain, b.plain}), nonempty, nullable);
  }
  for (std::size_t s = 0; s < 2; ++s) {
    for (std::size_t e = 0; e < 2; ++e) {
      auto& c = made.at[s][e];
      // Either may be empty, and the other one then stands where both do.
      std::vector<Expr> ways{builder_.Concat({a.at[s][0].nonempty, b.at[0][e].nonempty})};
      if (a.at[s][0].nullable) ways.push_back(b.at[s][e].nonempty);
      if (b.at[0][e].nullable) ways.push_back(a.at[s][e].nonempty);
      c.nonempty = builder_.Or(ways);
      c.nullable = a.at[s][e].nullable && b.at[s][e].nullable;
    }
  }
  return made;
}

AnchoredExpr AnchoredBuilder::Or(std::span<const AnchoredExpr> choices) {
  AnchoredExpr made;
  std::vector<Expr> plain;
  for (const AnchoredExpr& choice : choices) {
    made.has_anchor = made.has_anchor || choice.has_anchor;
    plain.push_back(choice.plain);
  }
  if (!made.has_anchor) made.plain = builder_.Or(plain);
  for (std::size_t s = 0; s < 2; ++s) {
    for (std::size_t e = 0; e < 2; ++e) {
      std::vector<Expr> ways;
      for (const AnchoredExpr& choice : choices) {
        ways.push_back(choice.at[s][e].nonempty);
        made.at[s][e].nullable = made.at[s][e].nullable || choice.at[s][e].nullable;
      }
      made.at[s][e].nonempty = builder_.Or(ways);
    }
  }
  return made;
}

AnchoredExpr AnchoredBuilder::Repeat(const AnchoredExpr& e, std::uint32_t min, std::uint32_t max) {
  if (max == 0) return Empty();
  if (e.has_anchor) {
    const AnchoredExpr choices[] = {Empty(), e};
    return min == 0 ? Or(choices) : e;
  }
  const auto& c = e.at[0][0];
  const Expr whole = builder_.Repeat(e.plain, min, max);
  if (min > 0 && !c.nullable) return Plain(whole, whole, false);
  return Plain(whole, builder_.Repeat(c.nonempty, 1, max), true);
}

Expr AnchoredBuilder::Whole(const AnchoredExpr& e) {
  if (!e.has_anchor) return e.plain;
  const auto& c = e.at[1][1];
  return c.nullable ? builder_.Optional(c.nonempty) : c.nonempty;
}

}  // namespace lattice::grammar
