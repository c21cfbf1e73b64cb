#pragma once

#include "chat/jinja/text.h"

namespace lattice::chat::jinja {

/// Appends with &, <, >, ' and " as HTML entities, spelled as MarkupSafe does.
void AppendEscaped(const Text& text, TextBuilder& out);

}  // namespace lattice::chat::jinja
