#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "lattice/result.h"

namespace lattice::fann {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

/// Appends numbers and arrays as they lie in memory.
class ByteWriter {
 public:
  template <typename T>
  void Number(T value) {
    static_assert(std::is_arithmetic_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  template <typename T>
  void Array(std::span<const T> values) {
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }
  void Text(std::string_view text) { bytes_ += text; }
  /// With its length before it.
  void Counted(std::string_view text) {
    Number(static_cast<std::uint32_t>(text.size()));
    Text(text);
  }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads what ByteWriter wrote, or anything else. Nothing is allocated before it is known to be
/// there. Errors: kCorruptData that names the thing and the offset.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t offset() const { return offset_; }
  std::size_t left() const { return bytes_.size() - offset_; }

  template <typename T>
  Result<T> Number(std::string_view what) {
    static_assert(std::is_arithmetic_v<T>);
    LATTICE_TRY(const auto part, Bytes(sizeof(T), what));
    T value;
    std::memcpy(&value, part.data(), sizeof(T));
    return value;
  }
  template <typename T>
  Status Array(std::span<T> values, std::string_view what) {
    LATTICE_TRY(const auto part, Bytes(values.size_bytes(), what));
    if (!part.empty()) std::memcpy(values.data(), part.data(), part.size());
    return Ok();
  }
  Result<std::span<const std::byte>> Bytes(std::size_t n, std::string_view what) {
    if (n > left()) {
      return Bad(what,
                 "needs " + std::to_string(n) + " bytes, " + std::to_string(left()) + " are left");
    }
    const auto part = bytes_.subspan(offset_, n);
    offset_ += n;
    return part;
  }
  Result<std::string> Counted(std::string_view what) {
    LATTICE_TRY(const auto n, Number<std::uint32_t>(what));
    LATTICE_TRY(const auto part, Bytes(n, what));
    return std::string(reinterpret_cast<const char*>(part.data()), part.size());
  }

  Error Bad(std::string_view what, std::string_view why) const {
    return {ErrorCode::kCorruptData,
            std::string(what) + " at byte " + std::to_string(offset_) + ": " + std::string(why)};
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t offset_ = 0;
};

}  // namespace lattice::fann
