#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace lattice {

using Sha256Digest = std::array<std::byte, 32>;

/// FIPS 180-4 SHA-256, fed piece by piece.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void Update(std::span<const std::byte> bytes);
  void Update(std::string_view text) { Update(std::as_bytes(std::span(text))); }
  Sha256Digest Finish();  ///< The object is used up.

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Lower-case hexadecimal digits of `bytes`.
std::string ToHex(std::span<const std::byte> bytes);

/// Whether `text` is `n_digits` such digits and nothing else.
bool IsHex(std::string_view text, std::size_t n_digits);

}  // namespace lattice
