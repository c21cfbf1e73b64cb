#pragma once

#include <filesystem>

#include "lattice/result.h"

namespace lattice::hub {

/// Makes the folder and those above it.
Status MakeFolders(const std::filesystem::path& folder);

/// Renames a folder out of sight (".removed-..."), then deletes it: whoever looks sees all or
/// nothing.
Status RemoveFolder(const std::filesystem::path& folder);

/// Makes the folder's list of names safe against a power cut.
Status SyncFolder(const std::filesystem::path& folder);

}  // namespace lattice::hub
