#include "hub/file_paths.h"

#include <algorithm>

namespace lattice::hub {
namespace {

constexpr std::size_t kMaxParts = 6;
constexpr std::size_t kMaxPartBytes = 128;

bool IsAlnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool IsPart(std::string_view part) {
  return !part.empty() && part.size() <= kMaxPartBytes && (IsAlnum(part[0]) || part[0] == '_') &&
         part.find("..") == part.npos && std::ranges::all_of(part, [](char c) {
           return IsAlnum(c) || c == '.' || c == '_' || c == '+' || c == '-';
         });
}

std::string Shown(std::string_view path) {
  std::string shown(path.substr(0, 200));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return shown;
}

}  // namespace

Status CheckFilePath(std::string_view path) {
  std::size_t n_parts = 0;
  for (std::string_view rest = path;; ++n_parts) {
    const std::size_t slash = rest.find('/');
    if (n_parts == kMaxParts || !IsPart(rest.substr(0, slash))) {
      return Error{ErrorCode::kCorruptData, "unsafe file name '" + Shown(path) + "'"};
    }
    if (slash == rest.npos) return Ok();
    rest.remove_prefix(slash + 1);
  }
}

Status CheckFilePaths(const std::vector<std::string>& paths) {
  std::vector<std::string> folded;
  for (const std::string& path : paths) {
    LATTICE_TRY_VOID(CheckFilePath(path));
    std::string key = path + '/';  // "a/" sorts, and is a prefix, before "a/b/"
    for (char& c : key) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    folded.push_back(std::move(key));
  }
  std::ranges::sort(folded);
  for (std::size_t i = 1; i < folded.size(); ++i) {
    if (folded[i].starts_with(folded[i - 1])) {
      return Error{ErrorCode::kCorruptData,
                   "file names '" + folded[i - 1] + "' and '" + folded[i] + "' collide"};
    }
  }
  return Ok();
}

}  // namespace lattice::hub
