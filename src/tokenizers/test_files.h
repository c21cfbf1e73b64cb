#pragma once

#include <zlib.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace lattice::tokenizers {

/// The contents of a file, expanded if it is gzip's; nothing when it cannot be read.
inline std::optional<std::string> ReadMaybeGz(const std::filesystem::path& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (file == nullptr) return std::nullopt;
  std::string text, block(1 << 16, '\0');
  int n = 0;
  while ((n = gzread(file.get(), block.data(), static_cast<unsigned>(block.size()))) > 0) {
    text.append(block, 0, static_cast<std::size_t>(n));
  }
  if (n < 0) return std::nullopt;
  return text;
}

}  // namespace lattice::tokenizers
