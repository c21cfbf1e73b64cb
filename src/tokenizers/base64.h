#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lattice::tokenizers {

/// The bytes that `text` spells in base64 (RFC 4648, section 4, padding required, no line breaks);
/// nothing when it is not that.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace lattice::tokenizers
