#include "base/files.h"

#include "base/atomic_file.h"
#include "base/mapped_file.h"

namespace lattice {

Result<std::string> ReadFile(const std::filesystem::path& file, std::size_t max_bytes) {
  LATTICE_TRY(const MappedFile mapped, MappedFile::Open(file));
  const auto bytes = mapped.bytes();
  if (bytes.size() > max_bytes) {
    return Error{ErrorCode::kResourceExhausted,
                 file.string() + " has " + std::to_string(bytes.size()) +
                     " bytes, above the limit of " + std::to_string(max_bytes)};
  }
  if (bytes.empty()) return std::string();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Status WriteFileAtomically(const std::filesystem::path& file, std::string_view content) {
  LATTICE_TRY(AtomicFile writer, AtomicFile::Create(file));
  LATTICE_TRY_VOID(writer.Append(content));
  return writer.Commit();
}

}  // namespace lattice
