#pragma once

#include <cstddef>
#include <string_view>

#include "chat/jinja/value.h"

namespace lattice::chat::jinja {

struct Stmt;
class Scope;

/// A {% macro %}, or the body of a {% call %} as the variable `caller`, with the scope that its
/// free names are looked up in.
struct Macro {
  const Stmt* definition = nullptr;
  Scope* scope = nullptr;
};

std::string_view MacroName(const Macro& macro);

}  // namespace lattice::chat::jinja
