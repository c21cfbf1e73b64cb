#pragma once

#include <filesystem>

#include "lattice/result.h"

namespace lattice::hub {

/// Makes the folder and those above it.
Status MakeFolders(const std::filesystem::path& folder);

/// Renames a folder out of sight (".removed-..."), then deletes it: whoever looks sees all or
/// nothing.
Status RemoveFolder(const std::filesystem::path& folder);

}  // namespace lattice::hub
