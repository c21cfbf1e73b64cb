#include "chat/jinja/template.h"

#include "chat/jinja/interpreter.h"
#include "chat/jinja/parser.h"

namespace lattice::chat::jinja {

Result<Template> Template::Parse(std::string_view source, const Limits& limits) {
  LATTICE_TRY(auto program, jinja::Parse(source, limits));
  return Template(std::move(program), limits);
}

Result<Text> Template::Run(const Variables& variables, const CivilTime& now,
                           std::string_view where) const {
  if (now.month < 1 || now.month > 12 || now.year < 1 || now.year > 9999) {
    return Error{ErrorCode::kInvalidArgument, "the current time is no date"};
  }
  Interpreter interpreter(*program_, limits_, now, variables.n_bytes);
  for (const auto& [name, value] : variables.values) interpreter.Define(name, value);
  return interpreter.Run(where);
}

}  // namespace lattice::chat::jinja
