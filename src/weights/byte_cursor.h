#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "lattice/result.h"

namespace lattice::weights {

/// Reads the bytes of a hostile file from left to right; nothing is read, nor any length believed,
/// beyond the end. Errors are kCorruptData with the byte offset.
class ByteCursor {
 public:
  explicit ByteCursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t offset() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }

  /// A little-endian number.
  template <typename T>
  Result<T> Number(std::string_view what) {
    static_assert(std::endian::native == std::endian::little);
    LATTICE_TRY(const auto bytes, Take(sizeof(T), what));
    T value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }

  Result<std::span<const std::byte>> Take(std::uint64_t n_bytes, std::string_view what) {
    if (n_bytes > left()) {
      return Complain(std::string(what) + " takes " + std::to_string(n_bytes) +
                      " bytes, but only " + std::to_string(left()) + " are left");
    }
    const auto taken = bytes_.subspan(at_, static_cast<std::size_t>(n_bytes));
    at_ += taken.size();
    return taken;
  }

  /// u64 length, then bytes; whether they are UTF-8 is not looked at.
  Result<std::string_view> String(std::string_view what) {
    LATTICE_TRY(const auto length, Number<std::uint64_t>(what));
    LATTICE_TRY(const auto bytes, Take(length, what));
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  /// What lies between here and a later place of the same bytes.
  std::span<const std::byte> Until(const ByteCursor& later) const {
    return bytes_.subspan(at_, later.at_ - at_);
  }

  Error Complain(std::string_view what) const {
    return Error{ErrorCode::kCorruptData, "byte " + std::to_string(at_) + ": " + std::string(what)};
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

}  // namespace lattice::weights
