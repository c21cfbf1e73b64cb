#include "tokenizers/proto_reader.h"

#include <bit>
#include <string>

namespace lattice::tokenizers {
namespace {

Error WrongWire(const ProtoReader::Field& field, std::string_view expected) {
  return {ErrorCode::kCorruptData, "field " + std::to_string(field.number) + ": expected " +
                                       std::string(expected) + ", found wire type " +
                                       std::to_string(static_cast<int>(field.wire))};
}

}  // namespace

Result<std::string_view> ProtoReader::Field::Bytes() const {
  if (wire != Wire::kBytes) return WrongWire(*this, "bytes");
  return bytes;
}

Result<std::uint64_t> ProtoReader::Field::Varint() const {
  if (wire != Wire::kVarint) return WrongWire(*this, "an integer");
  return value;
}

Result<bool> ProtoReader::Field::Bool() const {
  if (wire != Wire::kVarint) return WrongWire(*this, "a boolean");
  return value != 0;
}

Result<float> ProtoReader::Field::Float() const {
  if (wire != Wire::kFixed32) return WrongWire(*this, "a float");
  return std::bit_cast<float>(static_cast<std::uint32_t>(value));
}

Result<ProtoReader::Field> ProtoReader::Next() {
  LATTICE_TRY(const std::uint64_t key, Varint());
  if (key >> 3 == 0 || key >> 3 > 0x1FFFFFFF) return Complain("field number out of range");
  Field field;
  field.number = static_cast<std::uint32_t>(key >> 3);
  switch (key & 7) {
    case 0: {
      LATTICE_TRY(field.value, Varint());
      break;
    }
    case 1: {
      LATTICE_TRY(field.value, Fixed(8));
      break;
    }
    case 2: {
      LATTICE_TRY(const std::uint64_t n_bytes, Varint());
      if (n_bytes > rest_.size()) {
        return Complain("a field of " + std::to_string(n_bytes) + " bytes, but " +
                        std::to_string(rest_.size()) + " are left");
      }
      field.bytes = rest_.substr(0, static_cast<std::size_t>(n_bytes));
      rest_.remove_prefix(static_cast<std::size_t>(n_bytes));
      break;
    }
    case 5: {
      LATTICE_TRY(field.value, Fixed(4));
      break;
    }
    default:
      return Complain("unknown wire type " + std::to_string(key & 7));
  }
  field.wire = static_cast<Wire>(key & 7);
  return field;
}

Result<std::uint64_t> ProtoReader::Varint() {
  std::uint64_t value = 0;
  for (int shift = 0; !rest_.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(rest_.front());
    if (shift > 63 || (shift == 63 && byte > 1)) return Complain("an integer of over 64 bits");
    rest_.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
  return Complain("cut short inside an integer");
}

Result<std::uint64_t> ProtoReader::Fixed(std::size_t n_bytes) {
  if (rest_.size() < n_bytes) return Complain("cut short inside a number");
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < n_bytes; ++i) {
    value |= std::uint64_t{static_cast<std::uint8_t>(rest_[i])} << (8 * i);
  }
  rest_.remove_prefix(n_bytes);
  return value;
}

Error ProtoReader::Complain(std::string_view what) const {
  return {ErrorCode::kCorruptData, std::string(where_) + " at byte " +
                                       std::to_string(size_ - rest_.size()) + ": " +
                                       std::string(what)};
}

}  // namespace lattice::tokenizers
