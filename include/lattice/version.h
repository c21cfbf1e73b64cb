#pragma once

namespace lattice {

/// "0.1.0"
const char* Version();

}  // namespace lattice
