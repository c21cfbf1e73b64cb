#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tokenizers/aligned_text.h"

namespace lattice::tokenizers {

/// The bytes that `text` spells in the byte alphabet; nothing when a character of it is outside the
/// alphabet.
std::optional<std::string> BytesFromAlphabet(std::string_view text);

/// Replaces the next bytes of an edit, which are `bytes`, by their letters in the byte alphabet.
/// All letters of one code point have its origin.
void SpellInByteAlphabet(std::string_view bytes, TextEdit& edit);

}  // namespace lattice::tokenizers
