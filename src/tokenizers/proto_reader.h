#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lattice/result.h"

namespace lattice::tokenizers {

/// Reads the fields of one protocol-buffer message, which is not trusted. Nested messages are read
/// by a reader over their bytes.
class ProtoReader {
 public:
  enum class Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  struct Field {
    std::uint32_t number = 0;
    Wire wire = Wire::kVarint;
    std::uint64_t value = 0;  ///< kVarint, kFixed64, kFixed32
    std::string_view bytes;   ///< kBytes

    /// Typed reads: kCorruptData when the wire type is another.
    Result<std::string_view> Bytes() const;
    Result<std::uint64_t> Varint() const;
    Result<bool> Bool() const;
    Result<float> Float() const;
  };

  /// where  what the message is, for complaints.
  ProtoReader(std::string_view message, std::string_view where)
      : rest_(message), size_(message.size()), where_(where) {}

  bool at_end() const { return rest_.empty(); }
  /// kCorruptData with the byte offset in this message: cut short, a length beyond the end, a
  /// varint of more than 64 bits, field number 0, or a wire type that is none of the four.
  Result<Field> Next();

 private:
  Result<std::uint64_t> Varint();
  Result<std::uint64_t> Fixed(std::size_t n_bytes);
  Error Complain(std::string_view what) const;

  std::string_view rest_;
  std::size_t size_;
  std::string_view where_;
};

}  // namespace lattice::tokenizers
