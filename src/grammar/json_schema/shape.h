#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/json_schema/document.h"
#include "grammar/json_schema/number_expr.h"
#include "grammar/json_schema/string_expr.h"

namespace lattice::grammar {

/// "The value satisfies node n", or that it does not: 2 n + 1 then.
using Claim = std::uint32_t;
inline Claim Holds(NodeId node) { return node * 2; }
inline Claim Fails(NodeId node) { return node * 2 + 1; }
inline constexpr Claim kNeverClaim = 2 * kTrueNode + 1;

/// Claims that all hold: rising, none twice. {} is any value, {kNeverClaim} none.
using Goal = std::vector<Claim>;
Goal Both(const Goal& a, const Goal& b);
inline bool IsNever(const Goal& goal) { return !goal.empty() && goal[0] == kNeverClaim; }

/// A set of keys: those of some strings, or all but some.
struct KeySet {
  bool is_rest = false;                 ///< All but `names` and what matches one of `patterns`.
  Expr pattern = {};                    ///< Otherwise: these.
  std::vector<std::string> names = {};  ///< Rising.
  std::vector<Expr> patterns = {};
  friend bool operator==(const KeySet&, const KeySet&) = default;
};

/// Objects that satisfy all of this.
struct ObjectForm {
  struct Property {
    std::string name = {};
    Goal goal = {};
    bool required = false;
    bool declared = false;  ///< By `properties`: gives it its place in the order.
    friend bool operator==(const Property&, const Property&) = default;
  };
  struct Rule {
    KeySet keys = {};
    Goal goal = {};
    friend bool operator==(const Rule&, const Rule&) = default;
  };
  std::vector<Property> properties = {};
  std::vector<Rule> rules = {};      ///< Each member whose key is in `keys` has a value of `goal`.
  std::vector<Rule> witnesses = {};  ///< Some member has a key in `keys` and a value of `goal`.
  std::vector<Expr> names = {};      ///< Every key is one of these strings, for each of them.
  std::uint32_t min = 0;
  std::uint32_t max = kNoLimit;
  friend bool operator==(const ObjectForm&, const ObjectForm&) = default;
};

/// Objects with a member of the rule's keys and goal. Names that the keys except are listed, so
/// that each rule's names are always properties of its form.
ObjectForm WithWitness(ObjectForm::Rule rule);

/// Arrays that satisfy all of this.
struct ArrayForm {
  struct Contains {
    Goal goal = {};
    std::uint32_t min = 1;
    std::uint32_t max = kNoLimit;
    std::uint32_t first = 0;  ///< Items before this index do not count.
    friend bool operator==(const Contains&, const Contains&) = default;
  };
  std::vector<Goal> prefix = {};
  Goal rest = {};  ///< Of the items behind the prefix.
  std::vector<Contains> contains = {};
  bool unique = false;
  std::uint32_t min = 0;
  std::uint32_t max = kNoLimit;
  friend bool operator==(const ArrayForm&, const ArrayForm&) = default;
};

/// A set of JSON values: by type, objects and arrays as unions of forms.
struct Shape {
  bool null = false;
  bool yes = false;
  bool no = false;
  Expr number = {};
  bool only_integers = false;  ///< A schema said "integer".
  Expr string = {};
  std::vector<ObjectForm> objects = {};
  std::vector<ArrayForm> arrays = {};
};

/// Operations on shapes. Their cost is counted; kResourceExhausted past the limit.
class Shapes {
 public:
  Shapes(GrammarBuilder& builder, StringExprs& strings, NumberExprs& numbers)
      : builder_(builder), strings_(strings), numbers_(numbers) {}

  Shape Any() const;
  Shape None() const;
  Shape AnyObject() const;
  Shape AnyArray() const;
  Shape AllButObjects() const;
  Shape AllButArrays() const;
  Shape AllButStrings() const;
  Shape AllButNumbers() const;

  Result<Shape> Both(const Shape& a, const Shape& b);
  Result<Shape> Either(Shape a, const Shape& b);
  /// What is neither null, a boolean, a number nor a string of the shape; no objects and arrays.
  Shape OtherScalars(const Shape& shape);

  bool Contains(const KeySet& keys, std::string_view name);
  Status Spend(std::size_t n_steps);

 private:
  GrammarBuilder& builder_;
  StringExprs& strings_;
  NumberExprs& numbers_;
  std::size_t n_steps_ = 0;
};

}  // namespace lattice::grammar
