#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lattice/result.h"
#include "weights/byte_cursor.h"
#include "weights/gguf_types.h"

namespace lattice::weights {

/// A limit of ours on the numbers that one array may be copied for.
inline constexpr std::size_t kMaxGgufCopied = 1 << 24;

/// One value as it lies in the file.
struct GgufValue {
  GgufType type = GgufType::kU8;
  GgufType element = GgufType::kU8;  ///< Of an array.
  std::size_t n_elements = 1;        ///< Of an array.
  std::span<const std::byte> bytes;  ///< The number; a string's content; an array's elements.
};

/// The strings of an array, walked where they lie: for (std::string_view token : strings).
class GgufStrings {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::string_view*;
    using reference = std::string_view;

    Iterator() = default;
    std::string_view operator*() const;
    Iterator& operator++();
    Iterator operator++(int);
    bool operator==(const Iterator& other) const { return left_ == other.left_; }

   private:
    friend class GgufStrings;
    Iterator(std::span<const std::byte> bytes, std::size_t left) : bytes_(bytes), left_(left) {}
    std::span<const std::byte> bytes_;  // from the current string's length on
    std::size_t left_ = 0;              // strings from the current one on
  };

  GgufStrings() = default;
  std::size_t size() const { return n_; }
  bool empty() const { return n_ == 0; }
  Iterator begin() const { return Iterator(bytes_, n_); }
  Iterator end() const { return Iterator({}, 0); }

 private:
  friend class GgufMetadata;
  GgufStrings(std::span<const std::byte> bytes, std::size_t n) : bytes_(bytes), n_(n) {}
  std::span<const std::byte> bytes_;
  std::size_t n_ = 0;
};

/// The key-value pairs of a GGUF file. Views into the file: valid while its Checkpoint lives.
/// Strings are bytes, not checked to be UTF-8.
///
/// Get...  kNotFound when the key is absent; kCorruptData when its type does not fit: the message
/// names
///         file, key and both types. An integer may have any width and sign, and must fit the
///         result. A float is f32 or f64.
/// ...Or   the fallback when the key is absent; a wrong type is an error all the same.
class GgufMetadata {
 public:
  using Values = std::map<std::string_view, GgufValue, std::less<>>;

  GgufMetadata() = default;
  explicit GgufMetadata(Values values) : values_(std::move(values)) {}
  /// What begins every message: the file.
  void SetWhere(std::string where) { where_ = std::move(where); }

  const Values& values() const { return values_; }
  bool Has(std::string_view key) const { return values_.contains(key); }
  const GgufValue* Find(std::string_view key) const;

  Result<std::uint64_t> GetUint(std::string_view key) const;
  Result<std::int64_t> GetInt(std::string_view key) const;
  Result<double> GetFloat(std::string_view key) const;
  Result<bool> GetBool(std::string_view key) const;
  Result<std::string_view> GetString(std::string_view key) const;

  Result<std::uint64_t> UintOr(std::string_view key, std::uint64_t fallback) const;
  Result<std::int64_t> IntOr(std::string_view key, std::int64_t fallback) const;
  Result<double> FloatOr(std::string_view key, double fallback) const;
  Result<bool> BoolOr(std::string_view key, bool fallback) const;
  Result<std::string_view> StringOr(std::string_view key, std::string_view fallback) const;

  /// Arrays. Numbers are copied (kUnsupported above kMaxGgufCopied), strings and bytes are not.
  Result<GgufStrings> GetStrings(std::string_view key) const;
  Result<std::vector<std::uint64_t>> GetUints(std::string_view key) const;
  Result<std::vector<std::int64_t>> GetInts(std::string_view key) const;
  Result<std::vector<float>> GetFloats(std::string_view key) const;
  Result<std::vector<bool>> GetBools(std::string_view key) const;
  Result<std::span<const std::byte>> GetBytes(std::string_view key) const;  ///< of u8 or i8

  /// A value for each layer, for keys that hold one number for all or an array with one for each.
  /// kCorruptData when the array has another length.
  Result<std::vector<std::uint64_t>> GetUintPerLayer(std::string_view key,
                                                     std::size_t n_layers) const;

 private:
  Result<const GgufValue*> Get(std::string_view key) const;
  template <typename Element, typename Read>
  Result<std::vector<Element>> GetArray(std::string_view key, std::string_view wanted,
                                        Read read) const;
  Error Complain(std::string_view key, std::string_view what) const;
  Error WrongType(std::string_view key, std::string_view wanted, const GgufValue& found) const;

  std::string where_;
  Values values_;
};

}  // namespace lattice::weights
