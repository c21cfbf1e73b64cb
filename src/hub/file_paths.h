#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lattice/result.h"

namespace lattice::hub {

/// Checks the path of a file inside a model, as a hub listing, a manifest or an archive names it:
/// 1 to 6 parts between '/', each [A-Za-z0-9_][A-Za-z0-9._+-]{0,127} without "..". So it is
/// relative, it stays inside, it is not hidden, and it means the same on every system. kCorruptData
/// otherwise.
Status CheckFilePath(std::string_view path);

/// Checks a whole list of them: no two are equal but for case, and none is a folder of another.
Status CheckFilePaths(const std::vector<std::string>& paths);

}  // namespace lattice::hub
