#pragma once

#include <deque>
#include <map>
#include <string_view>
#include <vector>

#include "grammar/json_schema/expander.h"

namespace lattice::grammar {

/// Writes goals as rules of a grammar, one for each goal, so recursion costs nothing.
class Emitter {
 public:
  Emitter(Expander& expander, GrammarBuilder& builder, StringExprs& strings, NumberExprs& numbers,
          const JsonSchemaOptions& options, bool integers_with_point);

  /// The values of the goal; white space around them is the caller's affair.
  Result<Symbol> Emit(const Goal& goal);

 private:
  struct Member {
    Symbol pair;
    bool required;
  };
  struct Extra {  // members that are not declared
    Symbol pair;
    bool exists = false;
  };
  struct KeyClass {
    Expr keys;
    std::vector<Expr> in;  // patterns that match them
  };

  Symbol OfGoal(const Goal& goal);
  Result<Symbol> Body(const Goal& goal);
  Result<Symbol> Object(const ObjectForm& form, const Goal& goal);
  Result<Symbol> ObjectWithWitness(const ObjectForm& form, const Goal& goal);
  Result<Symbol> MembersOf(const ObjectForm& form, const ObjectForm::Rule* witness,
                           const Goal& goal);
  Result<Extra> Undeclared(const ObjectForm& form, const ObjectForm::Rule* witness,
                           const Goal& goal);
  Result<std::vector<KeyClass>> KeyClasses(const ObjectForm& form, const ObjectForm::Rule* witness,
                                           const Goal& goal);
  Expr KeysOf(const ObjectForm& form, const std::vector<Expr>& in, const std::vector<Expr>& out);
  Result<Symbol> CountedMembers(const std::vector<Member>& members, const Extra& extra,
                                const ObjectForm& form, const Goal& goal);
  Symbol Pair(Expr key, const Goal& value);

  Result<Symbol> Array(const ArrayForm& form, const Goal& goal);
  Symbol PlainArray(const ArrayForm& form);
  Result<Symbol> UniqueArray(const ArrayForm& form, const Goal& goal);
  Result<Symbol> ContainingArray(const ArrayForm& form, const Goal& goal);

  Symbol Spaced(std::string_view before, std::string_view mark, std::string_view after);
  Error Complain(const Goal& goal, ErrorCode code, std::string_view what) const;

  Expander& expander_;
  GrammarBuilder& builder_;
  StringExprs& strings_;
  NumberExprs& numbers_;
  const JsonSchemaOptions& options_;
  bool integers_with_point_;
  Symbol comma_, colon_, open_object_, close_object_, open_array_, close_array_;
  std::map<Goal, Symbol> symbols_;
  std::deque<Goal> todo_;
};

}  // namespace lattice::grammar
