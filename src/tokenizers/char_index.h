#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lattice::tokenizers {

/// Counts code points: bytes to characters in constant time after one pass over the text.
class CharIndex {
 public:
  /// `text` is valid UTF-8 and outlives the index.
  explicit CharIndex(std::string_view text) : text_(text) {
    before_block_.reserve(text.size() / kBlock + 2);
    std::uint32_t n = 0;
    for (std::size_t begin = 0; begin < text.size(); begin += kBlock) {
      before_block_.push_back(n);
      n += CountStarts(text.substr(begin, kBlock));
    }
    before_block_.push_back(n);
  }

  /// The code points that start before byte `at`, which is at most the text's size.
  std::uint32_t CharsBefore(std::size_t at) const {
    const std::size_t block = at / kBlock;
    return before_block_[block] + CountStarts(text_.substr(block * kBlock, at % kBlock));
  }

 private:
  static constexpr std::size_t kBlock = 64;

  static std::uint32_t CountStarts(std::string_view bytes) {
    return static_cast<std::uint32_t>(std::count_if(bytes.begin(), bytes.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));
  }

  std::string_view text_;
  std::vector<std::uint32_t> before_block_;
};

}  // namespace lattice::tokenizers
