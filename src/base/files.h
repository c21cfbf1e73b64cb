#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "lattice/result.h"

namespace lattice {

/// The whole of a small regular file. kResourceExhausted when it is longer than `max_bytes`.
Result<std::string> ReadFile(const std::filesystem::path& file, std::size_t max_bytes);

/// Replaces `file` by `content` so that readers see the old bytes or the new, never a mixture:
/// writes a temporary file beside it, syncs, renames, syncs the folder.
Status WriteFileAtomically(const std::filesystem::path& file, std::string_view content);

/// Makes the folder's list of names safe against a power cut.
Status SyncFolder(const std::filesystem::path& folder);

}  // namespace lattice
