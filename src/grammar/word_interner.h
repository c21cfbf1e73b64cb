#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lattice::grammar {

/// Numbers lists of words: equal lists have equal numbers, the first one is 0.
class WordInterner {
 public:
  struct Found {
    std::uint32_t id;
    bool is_new;
  };

  WordInterner() : slots_(64, kFree), begins_(1, 0) {}

  Found Intern(std::span<const std::uint32_t> words) {
    std::uint64_t hash = words.size();
    for (const std::uint32_t w : words) {
      hash = (hash ^ w) * 0x9E3779B97F4A7C15ull;
      hash ^= hash >> 29;
    }
    std::size_t at = hash & (slots_.size() - 1);
    for (; slots_[at] != kFree; at = (at + 1) & (slots_.size() - 1)) {
      if (hashes_[slots_[at]] == hash && std::ranges::equal((*this)[slots_[at]], words)) {
        return {slots_[at], false};
      }
    }
    const auto id = static_cast<std::uint32_t>(hashes_.size());
    words_.insert(words_.end(), words.begin(), words.end());
    begins_.push_back(words_.size());
    hashes_.push_back(hash);
    slots_[at] = id;
    if (hashes_.size() * 2 > slots_.size()) Rehash();
    return {id, true};
  }

  void Clear() {
    slots_.assign(64, kFree);
    words_.clear();
    begins_.resize(1);
    hashes_.clear();
  }

  /// Valid until the next Intern.
  std::span<const std::uint32_t> operator[](std::uint32_t id) const {
    return {words_.data() + begins_[id], begins_[id + 1] - begins_[id]};
  }
  std::size_t size() const { return hashes_.size(); }
  std::size_t n_bytes() const {
    return words_.capacity() * 4 + hashes_.capacity() * 16 + slots_.capacity() * 4;
  }

 private:
  static constexpr std::uint32_t kFree = UINT32_MAX;

  void Rehash() {
    slots_.assign(slots_.size() * 2, kFree);
    for (std::uint32_t id = 0; id < hashes_.size(); ++id) {
      std::size_t at = hashes_[id] & (slots_.size() - 1);
      while (slots_[at] != kFree) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = id;
    }
  }

  std::vector<std::uint32_t> slots_;  // open addressing, a power of two
  std::vector<std::uint32_t> words_;
  std::vector<std::size_t> begins_;
  std::vector<std::uint64_t> hashes_;
};

}  // namespace lattice::grammar
