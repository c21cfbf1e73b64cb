#include "base/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>

#include "base/atomic_file.h"
#include "base/input_file.h"

namespace lattice {

Result<std::string> ReadFile(const std::filesystem::path& file, std::size_t max_bytes) {
  LATTICE_TRY(const InputFile input, InputFile::Open(file));
  if (input.size() > max_bytes) {
    return Error{ErrorCode::kResourceExhausted,
                 file.string() + " has " + std::to_string(input.size()) +
                     " bytes, above the limit of " + std::to_string(max_bytes)};
  }
  std::string content(input.size(), '\0');
  LATTICE_TRY_VOID(input.Read(0, std::as_writable_bytes(std::span(content))));
  return content;
}

Status WriteFileAtomically(const std::filesystem::path& file, std::string_view content) {
  LATTICE_TRY(AtomicFile writer, AtomicFile::Create(file));
  LATTICE_TRY_VOID(writer.Append(content));
  return writer.Commit();
}

Status SyncFolder(const std::filesystem::path& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  const int code = errno;
  if (fd >= 0) close(fd);
  if (synced) return Ok();
  return Error{ErrorCode::kInvalidArgument,
               "cannot sync folder " + folder.string() + ": " + std::strerror(code)};
}

}  // namespace lattice
