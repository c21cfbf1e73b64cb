#pragma once

#include <boost/json/value.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "grammar/json_schema/document.h"
#include "grammar/json_schema/json_schema.h"
#include "grammar/json_schema/shape.h"

namespace lattice::grammar {

/// Works out the shapes of goals: one level of values, whose members and items are goals again.
///
/// Every keyword is a shape, for "holds" and for "fails"; a schema is all of its keywords. So
/// `not`, `oneOf` and `if` need no more than those two.
class Expander {
 public:
  Expander(SchemaDocument& document, GrammarBuilder& builder, StringExprs& strings,
           NumberExprs& numbers, const JsonSchemaOptions& options)
      : document_(document),
        builder_(builder),
        strings_(strings),
        numbers_(numbers),
        options_(options),
        shapes_(builder, strings, numbers) {}

  /// Kept: the pointer lives as long as this.
  Result<const Shape*> Expand(const Goal& goal);
  /// True only if no value satisfies the goal; looks `depth` levels deep.
  bool IsEmpty(const Goal& goal, int depth);
  bool FormIsEmpty(const ObjectForm& form, int depth);
  bool FormIsEmpty(const ArrayForm& form, int depth);
  /// The few values of which a goal can be, one goal each. Absent when that is not plain to see.
  std::optional<std::vector<Goal>> FewValues(const Goal& goal);
  /// What the goal is of a member of that name.
  Goal GoalOf(const ObjectForm& form, const ObjectForm::Property& property);

  Shapes& shapes() { return shapes_; }
  std::string PathOf(const Goal& goal) const;

 private:
  struct Keyword {
    NodeId node;
    const boost::json::object& schema;
    std::string_view name;
    const boost::json::value& value;
    bool fails;
  };
  using Handler = Result<Shape> (Expander::*)(const Keyword&);
  // Keywords that later drafts gave up, but did not give another meaning, are kept in them.
  struct Entry {
    std::string_view name;
    Handler handler;
    Dialect first = Dialect::kDraft4;
    Dialect last = Dialect::k2020;
  };
  static std::span<const Entry> Handlers();

  Result<const Shape*> ExpandClaim(Claim claim);
  Result<Shape> ExpandConstants(NodeId parent, std::span<const boost::json::value* const> values,
                                std::span<const std::string> steps, bool fail);
  Result<Shape> ConstantForms(NodeId node, bool fail);
  Result<Shape> ExpandSchema(NodeId node, bool fails);
  Result<Shape> ExpandKeyword(const Keyword& keyword);

  Result<Shape> Type(const Keyword& k);
  Result<Shape> Enum(const Keyword& k);
  Result<Shape> Const(const Keyword& k);
  Result<Shape> NumberRange(const Keyword& k);
  Result<Shape> MultipleOf(const Keyword& k);
  Result<Shape> Length(const Keyword& k);
  Result<Shape> Pattern(const Keyword& k);
  Result<Shape> Format(const Keyword& k);
  Result<Shape> Content(const Keyword& k);
  Result<Shape> Members(const Keyword& k);
  Result<Shape> Required(const Keyword& k);
  Result<Shape> MemberCount(const Keyword& k);
  Result<Shape> PropertyNames(const Keyword& k);
  Result<Shape> Dependencies(const Keyword& k);
  Result<Shape> Items(const Keyword& k);
  Result<Shape> ItemCount(const Keyword& k);
  Result<Shape> Contains(const Keyword& k);
  Result<Shape> UniqueItems(const Keyword& k);
  Result<Shape> AllOf(const Keyword& k);
  Result<Shape> AnyOf(const Keyword& k);
  Result<Shape> OneOf(const Keyword& k);
  Result<Shape> Not(const Keyword& k);
  Result<Shape> IfThenElse(const Keyword& k);
  Result<Shape> Ref(const Keyword& k);
  Result<Shape> Unevaluated(const Keyword& k);
  Result<Shape> Unsupported(const Keyword& k);

  Result<Shape> StringsAre(const Keyword& k, Expr strings);
  Result<Shape> OneOfHolds(const Keyword& k, const std::vector<NodeId>& branches);
  Result<Shape> OneDependency(const Keyword& k, std::string_view name,
                              const boost::json::value& needs);
  Result<Shape> AnyGoal(const std::vector<Goal>& goals);
  Result<Shape> AllClaims(const std::vector<Claim>& claims);
  Result<std::vector<NodeId>> Branches(const Keyword& k);
  Result<NodeId> Sub(const Keyword& k, const boost::json::value& value, const std::string& step);
  Result<std::uint32_t> Count(const Keyword& k, const boost::json::value& value);
  Error Complain(const Keyword& k, ErrorCode code, std::string_view what) const;

  SchemaDocument& document_;
  GrammarBuilder& builder_;
  StringExprs& strings_;
  NumberExprs& numbers_;
  const JsonSchemaOptions& options_;
  Shapes shapes_;
  std::map<Goal, std::unique_ptr<Shape>> goals_;
  std::unordered_map<Claim, std::unique_ptr<Result<Shape>>> claims_;
  std::unordered_map<Claim, bool> in_progress_;
  std::map<Goal, bool> empty_;
  std::map<std::pair<std::string, Dialect>, Result<Expr>> formats_;
  std::size_t depth_ = 0;
};

}  // namespace lattice::grammar
