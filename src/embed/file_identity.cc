#include "embed/file_identity.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/sha256.h"

namespace lattice::embed {
namespace {

constexpr std::size_t kSmallBytes = std::size_t{1} << 20;

bool BelongsToModel(const std::filesystem::path& file) {
  const auto extension = file.extension();
  return extension == ".json" || extension == ".txt" || extension == ".model" ||
         extension == ".safetensors";
}

void AddFile(const std::filesystem::path& file, Sha256& sha) {
  struct stat info {};
  if (stat(file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  std::string identity = file.filename().string() + '\0' + std::to_string(info.st_size) + ':';
  if (static_cast<std::size_t>(info.st_size) <= kSmallBytes) {
    if (const auto text = ReadFile(file, kSmallBytes)) identity += *text;
  } else {
    identity += std::to_string(info.st_mtim.tv_sec) + '.' + std::to_string(info.st_mtim.tv_nsec) +
                ':' + std::to_string(info.st_ino);
  }
  sha.Update(std::to_string(identity.size()) + ':');
  sha.Update(identity);
}

}  // namespace

std::string FileIdentity(std::span<const std::filesystem::path> folders) {
  Sha256 sha;
  for (const auto& folder : folders) {
    std::vector<std::filesystem::path> files;
    std::error_code code;
    for (std::filesystem::directory_iterator at(folder, code), end; !code && at != end;
         at.increment(code)) {
      if (BelongsToModel(at->path())) files.push_back(at->path());
    }
    std::sort(files.begin(), files.end());
    for (const auto& file : files) AddFile(file, sha);
  }
  const Sha256Digest digest = sha.Finish();
  return "files-" + ToHex(std::span(digest).first(16));
}

}  // namespace lattice::embed
