#include "tokenizers/word_cache.h"

#include <cstring>

#include "lattice/check.h"
#include "tokenizers/byte_hash.h"

namespace lattice::tokenizers {
namespace {

// Word 0 of a slot: version (32 bits), tokens (8), bytes of the word (8), kind (8), unused (8).
constexpr int kVersionShift = 32;
constexpr std::uint64_t kWriting = std::uint64_t{1} << kVersionShift;

std::uint64_t Shape(std::size_t n_tokens, std::size_t n_bytes, std::uint8_t kind) {
  return std::uint64_t{n_tokens} << 16 | std::uint64_t{n_bytes} << 8 | kind;
}
std::size_t TokensOf(std::uint64_t header) { return header >> 16 & 0xFF; }

// A token is its id (24 bits) and where it ends in the word (8).
constexpr int kEndBits = 8;

}  // namespace

// The word as 64-bit words, the last padded with zeros.
struct WordCache::Key {
  explicit Key(std::string_view word) : n_words((word.size() + 7) / 8) {
    words[n_words - 1] = 0;
    std::memcpy(words, word.data(), word.size());
  }
  std::size_t n_words;
  std::uint64_t words[kMaxWordBytes / 8];
};

WordCache::WordCache(std::size_t n_slots)
    : slots_(std::make_unique<Slot[]>(n_slots)), mask_(n_slots - 1) {
  LATTICE_CHECK(n_slots > 0 && (n_slots & mask_) == 0);
}

bool WordCache::Find(std::string_view word, std::uint8_t kind, std::uint32_t offset,
                     std::vector<Piece>& out) const {
  if (word.empty() || word.size() > kMaxWordBytes) return false;
  const Slot& slot = slots_[HashBytes(word) & mask_];
  const std::uint64_t header = slot.words[0].load(std::memory_order_acquire);
  if ((header & kWriting) != 0 || (header & 0xFFFF) != Shape(0, word.size(), kind)) return false;
  const Key key(word);
  for (std::size_t i = 0; i < key.n_words; ++i) {
    if (slot.words[1 + i].load(std::memory_order_acquire) != key.words[i]) return false;
  }
  std::uint64_t tokens[kWords];
  const std::size_t n_tokens = TokensOf(header);
  for (std::size_t i = 0; i < (n_tokens + 1) / 2; ++i) {
    tokens[i] = slot.words[1 + key.n_words + i].load(std::memory_order_acquire);
  }
  if (slot.words[0].load(std::memory_order_relaxed) != header) return false;

  std::uint32_t begin = 0;
  for (std::size_t i = 0; i < n_tokens; ++i) {
    const auto token = static_cast<std::uint32_t>(tokens[i / 2] >> (i % 2 * 32));
    const std::uint32_t end = token & ((1u << kEndBits) - 1);
    out.push_back({static_cast<TokenId>(token >> kEndBits), offset + begin, offset + end});
    begin = end;
  }
  return true;
}

void WordCache::Insert(std::string_view word, std::uint8_t kind, std::uint32_t offset,
                       std::span<const Piece> pieces) {
  if (word.empty() || word.size() > kMaxWordBytes) return;
  const Key key(word);
  if (pieces.size() > (kWords - 1 - key.n_words) * 2) return;
  std::uint64_t tokens[kWords] = {};
  std::uint32_t end = offset;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].begin != end || pieces[i].id < 0 || pieces[i].id >> (32 - kEndBits) != 0) return;
    end = pieces[i].end;
    const auto id = static_cast<std::uint32_t>(pieces[i].id);
    tokens[i / 2] |= std::uint64_t{id << kEndBits | (end - offset)} << (i % 2 * 32);
  }
  if (end != offset + word.size()) return;

  Slot& slot = slots_[HashBytes(word) & mask_];
  std::uint64_t header = slot.words[0].load(std::memory_order_relaxed);
  if ((header & kWriting) != 0) return;
  // Whoever loses the race leaves the slot to the winner. Payload stores release and loads acquire,
  // so a reader that sees any of them also sees the odd version.
  if (!slot.words[0].compare_exchange_strong(header, header | kWriting,
                                             std::memory_order_acq_rel)) {
    return;
  }
  for (std::size_t i = 0; i < key.n_words; ++i) {
    slot.words[1 + i].store(key.words[i], std::memory_order_release);
  }
  for (std::size_t i = 0; i < (pieces.size() + 1) / 2; ++i) {
    slot.words[1 + key.n_words + i].store(tokens[i], std::memory_order_release);
  }
  const std::uint64_t version = (header >> kVersionShift) + 2;
  slot.words[0].store(version << kVersionShift | Shape(pieces.size(), word.size(), kind),
                      std::memory_order_release);
}

}  // namespace lattice::tokenizers
