#include "grammar/automaton.h"

#include <algorithm>
#include <array>
#include <utility>

#include "lattice/check.h"

namespace lattice::grammar {
namespace {

// After so many stretches of tokens the readings of an ambiguous text are followed together, which
// is slower at first and never grows out of bounds.
constexpr std::size_t kMaxWalks = 50'000;

}  // namespace

Automaton::Automaton(std::shared_ptr<const Grammar> grammar,
                     std::shared_ptr<const Vocabulary> vocabulary, const AutomatonLimits& limits)
    : grammar_(std::move(grammar)),
      vocabulary_(vocabulary != nullptr
                      ? std::move(vocabulary)
                      : std::make_shared<const Vocabulary>(std::vector<std::string>{})),
      limits_(limits),
      parser_(grammar_, limits.parser),
      terminals_(parser_.lexer(), *vocabulary_) {}

Status Automaton::Check() const {
  if (parser_.error()) return *parser_.error();
  if (parser_.lexer().pool().exhausted()) return parser_.lexer().pool().exhaustion();
  return Ok();
}

Result<State> Automaton::Next(State state, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  LATTICE_TRY_VOID(Check());
  parser_.lexer().AddWork(limits_.parser.lexer.work_per_byte * bytes.size());
  for (const char c : bytes) {
    if (state == kNoState) break;
    state = parser_.Next(state, static_cast<std::uint8_t>(c));
  }
  LATTICE_TRY_VOID(Check());
  return state;
}

bool Automaton::is_complete(State state) const {
  const std::lock_guard lock(mutex_);
  return parser_.is_complete(state);
}

bool Automaton::can_continue(State state) const {
  const std::lock_guard lock(mutex_);
  return parser_.can_continue(state);
}

bool Automaton::has_failed() const {
  const std::lock_guard lock(mutex_);
  return !Check();
}

std::size_t Automaton::n_bytes() const {
  const std::lock_guard lock(mutex_);
  return parser_.n_bytes() + terminals_.n_bytes() + mask_bytes_ + only_bytes_.size() * 32;
}

Result<std::string> Automaton::Forced(State state, std::size_t max_bytes) {
  const std::lock_guard lock(mutex_);
  LATTICE_TRY_VOID(Check());
  std::string forced;
  while (forced.size() < max_bytes && state != kNoState && !parser_.is_complete(state)) {
    const int byte = OnlyByte(state);
    LATTICE_TRY_VOID(Check());
    if (byte < 0) break;
    forced.push_back(static_cast<char>(byte));
    state = parser_.Next(state, static_cast<std::uint8_t>(byte));
  }
  return forced;
}

// The only byte that may come next; -1 if there are several, or none.
int Automaton::OnlyByte(State state) {
  if (const auto known = only_bytes_.find(state); known != only_bytes_.end()) return known->second;
  parser_.lexer().AddWork(limits_.parser.lexer.work_per_byte);
  const std::vector<std::uint8_t>& first = parser_.lexer().class_bytes();  // of ranges, rising
  int only = -1;
  for (std::size_t c = 0; c < first.size(); ++c) {
    if (parser_.Next(state, first[c]) == kNoState) continue;
    const int end = c + 1 < first.size() ? first[c + 1] : 256;
    if (only >= 0 || end - first[c] > 1) {
      only = -1;
      break;
    }
    only = first[c];
  }
  if (!Check()) return -1;
  only_bytes_.emplace(state, only);
  return only;
}

Status Automaton::Fill(State state, std::span<std::uint64_t> allowed) {
  const std::lock_guard lock(mutex_);
  LATTICE_TRY_VOID(Check());
  const std::size_t n_words = vocabulary_->n_words();
  LATTICE_CHECK(allowed.size() >= n_words);
  parser_.lexer().AddWork(limits_.parser.lexer.work_per_mask);
  const Mask& mask = MaskOf(state);
  LATTICE_TRY_VOID(Check());
  if (!mask.bits.empty()) {
    for (std::size_t w = 0; w < n_words; ++w) allowed[w] &= mask.bits[w];
    std::ranges::fill(allowed.subspan(n_words), 0);
    return Ok();
  }
  // Few tokens: those that were allowed before stay.
  std::vector<TokenId> kept;
  for (const TokenId id : mask.ids) {
    if ((allowed[static_cast<std::size_t>(id) / 64] >> (id % 64) & 1) != 0) kept.push_back(id);
  }
  std::ranges::fill(allowed, 0);
  for (const TokenId id : kept) SetBit(allowed, id);
  return Ok();
}

const Automaton::Mask& Automaton::MaskOf(State state) {
  if (const auto known = masks_.find(state); known != masks_.end()) return known->second;
  if (mask_bytes_ + terminals_.n_bytes() > limits_.mask_bytes) {
    masks_.clear();
    terminals_.Clear();
    mask_bytes_ = 0;
  }
  Mask mask = Compute(state);
  mask_bytes_ += mask.bits.size() * 8 + mask.ids.size() * 4 + 64;
  return masks_[state] = std::move(mask);
}

// The readings of a text are independent: the mask is the union of theirs. Each is first followed
// through its terminal, which is known beforehand; what goes on past the terminal's end is little.
Automaton::Mask Automaton::Compute(State state) {
  Mask mask;
  tokens_.clear();
  n_walks_ = 0;
  const std::size_t n_words = vocabulary_->n_words();
  for (std::size_t i = 0; i < parser_.n_threads(state); ++i) {
    const Parser::Thread thread = parser_.thread(state, i);
    const TerminalMask& terminal = terminals_.Of(thread.state);
    if (mask.bits.empty()) {
      mask.bits = terminal.bits;
    } else if (!terminal.bits.empty()) {
      for (std::size_t w = 0; w < n_words; ++w) mask.bits[w] |= terminal.bits[w];
    }
    tokens_.insert(tokens_.end(), terminal.ids.begin(), terminal.ids.end());
    if (terminal.exits.empty()) continue;
    const State after = parser_.After(thread.item);
    visited_.clear();
    if (terminal.below) {
      AddBelow(after, *terminal.below, terminal.below->all());
      continue;
    }
    const TokenTrie& trie = terminal.exits_of_rest ? vocabulary_->rest_trie() : vocabulary_->trie();
    for (const std::uint32_t exit : terminal.exits) AddBelow(after, trie, trie.below(exit));
  }
  if (n_walks_ > kMaxWalks) {
    tokens_.clear();
    mask.bits.clear();
    WalkTogether(state, vocabulary_->trie());
  }
  std::ranges::sort(tokens_);
  tokens_.erase(std::unique(tokens_.begin(), tokens_.end()), tokens_.end());
  if (mask.bits.empty() && tokens_.size() * 2 < n_words) {
    mask.ids = tokens_;
    return mask;
  }
  mask.bits.resize(n_words);
  for (const TokenId id : tokens_) SetBit(mask.bits, id);
  return mask;
}

void Automaton::AddBelow(State state, const TokenTrie& trie, TokenTrie::Range range) {
  if (range.begin == range.end || n_walks_ > kMaxWalks || parser_.error()) return;
  if (!visited_.insert((std::uint64_t{state} << 32) | range.begin).second) return;
  ++n_walks_;
  const std::size_t n = parser_.n_threads(state);
  for (std::size_t i = 0; i < n; ++i) AddThread(parser_.thread(state, i), trie, range);
}

void Automaton::AddThread(const Parser::Thread& thread, const TokenTrie& trie,
                          TokenTrie::Range range) {
  Lexer& lexer = parser_.lexer();
  const unsigned above = trie[range.begin].depth - 1u;
  std::array<LexState, TokenTrie::kMaxDepth + 1> path;
  path[above] = thread.state;
  std::size_t n_visited = 1;
  for (std::uint32_t i = range.begin; i < range.end; ++n_visited) {
    const TokenTrie::Node& node = trie[i];
    const LexState state = lexer.Next(path[node.depth - 1u], node.byte);
    if (state == kDead) {
      i = node.end;
      continue;
    }
    path[node.depth] = state;
    const auto ending = trie.tokens(i);
    tokens_.insert(tokens_.end(), ending.begin(), ending.end());
    if (lexer.accepts(state) && node.end > i + 1) {
      AddBelow(parser_.After(thread.item), trie, trie.below(i));
    }
    i = lexer.is_final(state) ? node.end : i + 1;
  }
  lexer.Spend(n_visited / 16);
}

void Automaton::WalkTogether(State from, const TokenTrie& trie) {
  std::array<State, TokenTrie::kMaxDepth + 1> path{};
  path[0] = from;
  for (std::uint32_t i = 0; i < trie.size();) {
    parser_.lexer().Spend(1);
    const TokenTrie::Node& node = trie[i];
    const State state = parser_.Next(path[node.depth - 1u], node.byte);
    if (state == kNoState) {
      i = node.end;
      continue;
    }
    path[node.depth] = state;
    const auto ending = trie.tokens(i);
    tokens_.insert(tokens_.end(), ending.begin(), ending.end());
    ++i;
  }
}

}  // namespace lattice::grammar
