#include "base/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/input_file.h"

namespace lattice {

Result<MappedFile> MappedFile::Open(const std::filesystem::path& file) {
  LATTICE_TRY(const InputFile opened, InputFile::Open(file));
  if (opened.size() == 0) {
    return MappedFile(nullptr, 0, opened.modified_ns());  // mmap refuses empty mappings
  }
  void* data = mmap(nullptr, opened.size(), PROT_READ, MAP_SHARED, opened.descriptor(), 0);
  if (data == MAP_FAILED) {
    return Error{ErrorCode::kInvalidArgument,
                 "cannot map " + file.string() + ": " + std::strerror(errno)};
  }
  return MappedFile(static_cast<const std::byte*>(data), opened.size(), opened.modified_ns());
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::Release(std::span<const std::byte> part) const {
  // Only whole pages inside `part`: a neighbour's bytes may share the outer ones.
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(part.data()) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(part.data()) + part.size()) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace lattice
