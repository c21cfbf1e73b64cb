#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/test_folder.h"

namespace lattice::weights {

/// A safetensors file of any header and data, well formed or not.
inline std::string FileOf(std::string_view header, std::size_t n_data_bytes) {
  std::string file;
  for (int i = 0; i < 8; ++i) {
    file.push_back(static_cast<char>(static_cast<std::uint64_t>(header.size()) >> (8 * i) & 0xFF));
  }
  file += header;
  for (std::size_t i = 0; i < n_data_bytes; ++i) file.push_back(static_cast<char>(i));
  return file;
}

/// A number as it lies in a file.
template <typename T>
std::string Le(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(T));
}

// Pieces of GGUF files, well formed or not: type numbers, lengths and offsets are the caller's.

inline std::string GgufText(std::string_view text) {
  return Le<std::uint64_t>(text.size()) + std::string(text);
}
inline std::string GgufPair(std::string_view key, std::uint32_t type, std::string_view value) {
  return GgufText(key) + Le(type) + std::string(value);
}
inline std::string GgufArray(std::string_view key, std::uint32_t element, std::uint64_t n,
                             std::string_view elements) {
  return GgufPair(key, 9, Le(element) + Le(n) + std::string(elements));
}
/// dims in the file's order: the contiguous one first.
inline std::string GgufTensor(std::string_view name, const std::vector<std::uint64_t>& dims,
                              std::uint32_t type, std::uint64_t offset) {
  std::string info = GgufText(name) + Le(static_cast<std::uint32_t>(dims.size()));
  for (const std::uint64_t n : dims) info += Le(n);
  return info + Le(type) + Le(offset);
}
/// `pairs_and_tensors`, padded to the alignment, and that many bytes of data.
inline std::string GgufFile(std::uint64_t n_tensors, std::uint64_t n_pairs,
                            std::string_view pairs_and_tensors, std::size_t n_data_bytes,
                            std::size_t alignment = 32, std::uint32_t version = 3) {
  std::string file = "GGUF" + Le(version) + Le(n_tensors) + Le(n_pairs);
  file += pairs_and_tensors;
  while (file.size() % alignment != 0) file.push_back('\0');
  for (std::size_t i = 0; i < n_data_bytes; ++i) file.push_back(static_cast<char>(i));
  return file;
}

/// A file of one tensor, as older folders hold them.
inline std::string KhqFile(std::string_view magic, std::uint32_t version,
                           const std::vector<std::uint64_t>& dims, std::uint64_t n_elements,
                           std::string_view data) {
  std::string file = std::string(magic) + Le(version) + Le(static_cast<std::uint32_t>(dims.size()));
  for (const std::uint64_t n : dims) file += Le(n);
  return file + Le(n_elements) + std::string(data);
}

}  // namespace lattice::weights
