#include "hub/wheel.h"

#include <sys/stat.h>
#include <zip.h>

#include <memory>
#include <string>

#include "hub/file_paths.h"
#include "hub/sinks.h"

namespace lattice::hub {
namespace {

using Archive = std::unique_ptr<zip_t, decltype(&zip_discard)>;
using Entry = std::unique_ptr<zip_file_t, decltype(&zip_fclose)>;

Error Corrupt(const PackageMember& member, const std::string& what) {
  return Error{ErrorCode::kCorruptData, std::string(member.member) + ": " + what};
}

/// Links, folders and devices say so in the upper half of the Unix attributes.
bool IsRegularFile(zip_t* archive, zip_uint64_t index) {
  zip_uint8_t system = 0;
  zip_uint32_t attributes = 0;
  if (zip_file_get_external_attributes(archive, index, 0, &system, &attributes) != 0) return false;
  if (system != ZIP_OPSYS_UNIX) return true;
  const mode_t kind = (attributes >> 16) & S_IFMT;
  return kind == 0 || kind == S_IFREG;
}

Result<CachedFile> Unpack(zip_t* archive, const PackageMember& member,
                          const std::filesystem::path& folder, const std::stop_token& stop) {
  LATTICE_TRY_VOID(CheckFilePath(member.path));
  const zip_int64_t index = zip_name_locate(archive, std::string(member.member).c_str(), 0);
  zip_stat_t stat;
  if (index < 0 || zip_stat_index(archive, static_cast<zip_uint64_t>(index), 0, &stat) != 0) {
    return Corrupt(member, "not in the archive");
  }
  if (!IsRegularFile(archive, static_cast<zip_uint64_t>(index))) {
    return Corrupt(member, "not a regular file");
  }
  if ((stat.valid & ZIP_STAT_SIZE) == 0 || stat.size != member.size) {
    return Corrupt(member,
                   std::to_string(stat.size) + " bytes instead of " + std::to_string(member.size));
  }
  const Entry entry(zip_fopen_index(archive, static_cast<zip_uint64_t>(index), 0), zip_fclose);
  if (entry == nullptr) return Corrupt(member, "cannot be read");
  const HubFile wanted{std::string(member.path), member.size, std::string(member.sha256), ""};
  LATTICE_TRY(FileSink sink, FileSink::Open(folder, wanted, stop));
  LATTICE_TRY_VOID(sink.Restart());
  std::string buffer(std::size_t{1} << 20, '\0');
  for (;;) {
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "unpacking was cancelled"};
    const zip_int64_t n = zip_fread(entry.get(), buffer.data(), buffer.size());
    if (n < 0) return Corrupt(member, "cannot be unpacked");
    if (n == 0) break;
    LATTICE_TRY_VOID(sink.Append(std::string_view(buffer).substr(0, static_cast<std::size_t>(n))));
  }
  if (Status finished = sink.Finish(); !finished) {
    return std::move(finished).error().Within(member.member);
  }
  return sink.result();
}

}  // namespace

Result<std::vector<CachedFile>> UnpackMembers(const std::filesystem::path& archive,
                                              std::span<const PackageMember> members,
                                              const std::filesystem::path& folder,
                                              const std::stop_token& stop) {
  int code = 0;
  const Archive opened(zip_open(archive.c_str(), ZIP_RDONLY, &code), zip_discard);
  if (opened == nullptr) {
    return Error{ErrorCode::kCorruptData, archive.string() + " is not a zip archive"};
  }
  std::vector<CachedFile> files;
  for (const PackageMember& member : members) {
    Result<CachedFile> file = Unpack(opened.get(), member, folder, stop);
    if (!file) return std::move(file).error().Within(archive.string());
    files.push_back(std::move(*file));
  }
  return files;
}

}  // namespace lattice::hub
