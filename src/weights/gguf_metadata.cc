#include "weights/gguf_metadata.h"

#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "weights/json_scanner.h"

namespace lattice::weights {
namespace {

template <typename T>
T Load(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

// An integer of any type: what lies below zero, or the rest.
struct Integer {
  bool negative = false;
  std::uint64_t bits = 0;  // two's complement when negative
};

Integer Signed(std::int64_t value) { return {value < 0, static_cast<std::uint64_t>(value)}; }
Integer Unsigned(std::uint64_t value) { return {false, value}; }

std::optional<Integer> ReadInteger(GgufType type, std::span<const std::byte> bytes) {
  switch (type) {
    case GgufType::kU8:
      return Unsigned(Load<std::uint8_t>(bytes));
    case GgufType::kI8:
      return Signed(Load<std::int8_t>(bytes));
    case GgufType::kU16:
      return Unsigned(Load<std::uint16_t>(bytes));
    case GgufType::kI16:
      return Signed(Load<std::int16_t>(bytes));
    case GgufType::kU32:
      return Unsigned(Load<std::uint32_t>(bytes));
    case GgufType::kI32:
      return Signed(Load<std::int32_t>(bytes));
    case GgufType::kU64:
      return Unsigned(Load<std::uint64_t>(bytes));
    case GgufType::kI64:
      return Signed(Load<std::int64_t>(bytes));
    default:
      return std::nullopt;
  }
}

// Nothing for other types, and for integers that do not fit.
std::optional<std::uint64_t> ReadUint(GgufType type, std::span<const std::byte> bytes) {
  const auto integer = ReadInteger(type, bytes);
  if (!integer || integer->negative) return std::nullopt;
  return integer->bits;
}

std::optional<std::int64_t> ReadInt(GgufType type, std::span<const std::byte> bytes) {
  const auto integer = ReadInteger(type, bytes);
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!integer || (!integer->negative && integer->bits > kMax)) return std::nullopt;
  return static_cast<std::int64_t>(integer->bits);
}

std::optional<double> ReadFloat(GgufType type, std::span<const std::byte> bytes) {
  if (type == GgufType::kF32) return Load<float>(bytes);
  if (type == GgufType::kF64) return Load<double>(bytes);
  return std::nullopt;
}

// Any byte but 0 is true: a C++ bool of another value would be undefined.
std::optional<bool> ReadBool(GgufType type, std::span<const std::byte> bytes) {
  if (type != GgufType::kBool) return std::nullopt;
  return bytes[0] != std::byte{0};
}

std::string TypeText(const GgufValue& value) {
  const std::string name(GgufTypeName(value.type));
  if (value.type != GgufType::kArray) return name;
  return name + " of " + std::to_string(value.n_elements) + " " +
         std::string(GgufTypeName(value.element));
}

}  // namespace

std::string_view GgufStrings::Iterator::operator*() const {
  const auto length = static_cast<std::size_t>(Load<std::uint64_t>(bytes_));
  return {reinterpret_cast<const char*>(bytes_.data()) + sizeof(std::uint64_t), length};
}

GgufStrings::Iterator& GgufStrings::Iterator::operator++() {
  bytes_ = bytes_.subspan(sizeof(std::uint64_t) + (**this).size());
  --left_;
  return *this;
}

GgufStrings::Iterator GgufStrings::Iterator::operator++(int) {
  Iterator before = *this;
  ++*this;
  return before;
}

const GgufValue* GgufMetadata::Find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

Error GgufMetadata::Complain(std::string_view key, std::string_view what) const {
  return Error{ErrorCode::kCorruptData, (where_.empty() ? "" : where_ + ": ") + "key " +
                                            Quoted(key) + ": " + std::string(what)};
}

Error GgufMetadata::WrongType(std::string_view key, std::string_view wanted,
                              const GgufValue& found) const {
  return Complain(key, "expected " + std::string(wanted) + ", found " + TypeText(found));
}

Result<const GgufValue*> GgufMetadata::Get(std::string_view key) const {
  const GgufValue* value = Find(key);
  if (value != nullptr) return value;
  Error error = Complain(key, "is missing");
  error.code = ErrorCode::kNotFound;
  return error;
}

Result<std::uint64_t> GgufMetadata::GetUint(std::string_view key) const {
  LATTICE_TRY(const GgufValue* value, Get(key));
  if (const auto number = ReadUint(value->type, value->bytes)) return *number;
  if (ReadInteger(value->type, value->bytes)) return Complain(key, "is negative");
  return WrongType(key, "an integer", *value);
}

Result<std::int64_t> GgufMetadata::GetInt(std::string_view key) const {
  LATTICE_TRY(const GgufValue* value, Get(key));
  if (const auto number = ReadInt(value->type, value->bytes)) return *number;
  if (ReadInteger(value->type, value->bytes)) return Complain(key, "is 2^63 or more");
  return WrongType(key, "an integer", *value);
}

Result<double> GgufMetadata::GetFloat(std::string_view key) const {
  LATTICE_TRY(const GgufValue* value, Get(key));
  if (const auto number = ReadFloat(value->type, value->bytes)) return *number;
  return WrongType(key, "a float", *value);
}

Result<bool> GgufMetadata::GetBool(std::string_view key) const {
  LATTICE_TRY(const GgufValue* value, Get(key));
  if (const auto truth = ReadBool(value->type, value->bytes)) return *truth;
  return WrongType(key, "a bool", *value);
}

Result<std::string_view> GgufMetadata::GetString(std::string_view key) const {
  LATTICE_TRY(const GgufValue* value, Get(key));
  if (value->type != GgufType::kString) return WrongType(key, "a string", *value);
  return std::string_view(reinterpret_cast<const char*>(value->bytes.data()), value->bytes.size());
}

Result<std::uint64_t> GgufMetadata::UintOr(std::string_view key, std::uint64_t fallback) const {
  return Has(key) ? GetUint(key) : fallback;
}

Result<std::int64_t> GgufMetadata::IntOr(std::string_view key, std::int64_t fallback) const {
  return Has(key) ? GetInt(key) : fallback;
}

Result<double> GgufMetadata::FloatOr(std::string_view key, double fallback) const {
  return Has(key) ? GetFloat(key) : fallback;
}

Result<bool> GgufMetadata::BoolOr(std::string_view key, bool fallback) const {
  return Has(key) ? GetBool(key) : fallback;
}

Result<std::string_view> GgufMetadata::StringOr(std::string_view key,
                                                std::string_view fallback) const {
  return Has(key) ? GetString(key) : fallback;
}

Result<GgufStrings> GgufMetadata::GetStrings(std::string_view key) const {
  LATTICE_TRY(const GgufValue* value, Get(key));
  const bool fits = value->type == GgufType::kArray && value->element == GgufType::kString;
  if (!fits) return WrongType(key, "an array of strings", *value);
  return GgufStrings(value->bytes, value->n_elements);
}

template <typename Element, typename Read>
Result<std::vector<Element>> GgufMetadata::GetArray(std::string_view key, std::string_view wanted,
                                                    Read read) const {
  LATTICE_TRY(const GgufValue* value, Get(key));
  const std::size_t width = GgufTypeBytes(value->element);
  if (value->type != GgufType::kArray || width == 0) return WrongType(key, wanted, *value);
  if (value->n_elements > kMaxGgufCopied) {
    Error error = Complain(key, TypeText(*value) + " is above the limit of " +
                                    std::to_string(kMaxGgufCopied) + " elements");
    error.code = ErrorCode::kUnsupported;
    return error;
  }
  std::vector<Element> elements;
  elements.reserve(value->n_elements);
  for (std::size_t i = 0; i < value->n_elements; ++i) {
    const auto element = read(value->element, value->bytes.subspan(i * width, width));
    if (!element) {
      return Complain(key, "element " + std::to_string(i) + " of " + TypeText(*value) +
                               " does not fit " + std::string(wanted));
    }
    elements.push_back(static_cast<Element>(*element));
  }
  return elements;
}

Result<std::vector<std::uint64_t>> GgufMetadata::GetUints(std::string_view key) const {
  return GetArray<std::uint64_t>(key, "an array of non-negative integers", ReadUint);
}

Result<std::vector<std::int64_t>> GgufMetadata::GetInts(std::string_view key) const {
  return GetArray<std::int64_t>(key, "an array of integers", ReadInt);
}

Result<std::vector<float>> GgufMetadata::GetFloats(std::string_view key) const {
  return GetArray<float>(key, "an array of floats", ReadFloat);
}

Result<std::vector<bool>> GgufMetadata::GetBools(std::string_view key) const {
  return GetArray<bool>(key, "an array of bools", ReadBool);
}

Result<std::span<const std::byte>> GgufMetadata::GetBytes(std::string_view key) const {
  LATTICE_TRY(const GgufValue* value, Get(key));
  const bool fits = value->type == GgufType::kArray &&
                    (value->element == GgufType::kU8 || value->element == GgufType::kI8);
  if (!fits) return WrongType(key, "an array of bytes", *value);
  return value->bytes;
}

Result<std::vector<std::uint64_t>> GgufMetadata::GetUintPerLayer(std::string_view key,
                                                                 std::size_t n_layers) const {
  LATTICE_TRY(const GgufValue* value, Get(key));
  if (value->type != GgufType::kArray) {
    LATTICE_TRY(const std::uint64_t one, GetUint(key));
    return std::vector<std::uint64_t>(n_layers, one);
  }
  LATTICE_TRY(std::vector<std::uint64_t> each, GetUints(key));
  if (each.size() == n_layers) return each;
  return Complain(key, "has " + std::to_string(each.size()) + " elements for " +
                           std::to_string(n_layers) + " layers");
}

}  // namespace lattice::weights
