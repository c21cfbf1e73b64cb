#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace lattice::server {

/// RFC 4648, section 4, with padding.
std::string EncodeBase64(std::span<const std::byte> bytes);

}  // namespace lattice::server
