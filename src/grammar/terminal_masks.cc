#include "grammar/terminal_masks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <string>
#include <utility>

#include "grammar/emptiness.h"

namespace lattice::grammar {
namespace {

constexpr std::size_t kMaxKeySize = 16 << 10;
// Merging what stands below the exits pays up to here.
constexpr std::size_t kMaxMergedNodes = 50'000;

CharSet PlainChars() {
  CharSet set = CharSet::OfRange(0x20, 0x10FFFF);
  return set.Minus(CharSet::OfText("\"\\\x7F"));
}

}  // namespace

void TerminalMasks::Clear() {
  masks_.clear();
  exact_.clear();
  n_bytes_ = 0;
}

const TerminalMask& TerminalMasks::Of(LexState state) {
  if (const auto at = masks_.find(state); at != masks_.end()) return *at->second;
  auto found = Find(state);  // may add to masks_
  return *(masks_[state] = std::move(found));
}

// Without counters that tokens of so many bytes cannot exhaust, an expression goes along with what
// it went along with before, and perhaps with longer tokens. If there are none such, nothing has
// changed.
std::shared_ptr<const TerminalMask> TerminalMasks::Find(LexState state) {
  const ExprId whole = lexer_.expr(state);
  const auto longest = static_cast<std::uint32_t>(vocabulary_.longest());
  for (const std::uint32_t n_bytes : {12u, 20u, 32u, longest}) {
    const ExprId e = lexer_.pool().Clamp(whole, n_bytes);
    auto mask = OfExpr(e);
    if (e == whole || n_bytes >= longest || mask->longest <= n_bytes) return mask;
  }
  return OfExpr(whole);
}

std::shared_ptr<const TerminalMask> TerminalMasks::OfExpr(ExprId e) {
  const LexState state = lexer_.StateOf(e);
  if (const auto at = exact_.find(state); at != exact_.end()) return at->second;
  const std::string key = lexer_.pool().Key(e, kMaxKeySize);
  std::shared_ptr<const TerminalMask> mask = key.empty() ? nullptr : vocabulary_.Find(key);
  if (mask == nullptr) {
    mask = std::make_shared<const TerminalMask>(Compute(e));
    // What an exhausted lexer says is incomplete.
    if (!key.empty() && !lexer_.error() && !lexer_.pool().exhausted()) {
      vocabulary_.Keep(key, mask);
    }
  }
  n_bytes_ += mask->n_bytes();
  exact_[state] = mask;
  return mask;
}

TerminalMask TerminalMasks::Compute(ExprId e) {
  ExprPool& pool = lexer_.pool();
  if (pool.node(e).kind == ExprKind::kAnd) {
    std::vector<ExprId> others, nots;
    for (const ExprId part : pool.children(e)) {
      const ExprPool::Node& n = pool.node(part);
      if (n.kind == ExprKind::kNot) {
        nots.push_back(n.a);
      } else {
        others.push_back(part);
      }
    }
    if (!nots.empty() && !others.empty()) {
      return WithoutSome(e, pool.And(std::move(others)), pool.Or(std::move(nots)));
    }
  }
  TerminalMask mask;
  std::vector<TokenId> tokens;
  std::size_t n_chars = 0;
  const bool is_plain = PlainStretch(e, n_chars);
  mask.exits_of_rest = is_plain;
  Walk(is_plain ? vocabulary_.rest_trie() : vocabulary_.trie(), lexer_.StateOf(e), mask, tokens);
  if (!is_plain && tokens.size() * 2 < vocabulary_.n_words()) {
    mask.ids = std::move(tokens);
  } else {
    mask.bits = is_plain ? vocabulary_.PlainTokens(n_chars) : TokenBits(vocabulary_.n_words());
    if (is_plain) mask.longest = vocabulary_.longest();
    for (const TokenId id : tokens) SetBit(mask.bits, id);
  }
  MergeExits(mask);
  return mask;
}

// Whether `e` goes along with up to n_chars plain characters, whatever they are, and with no
// others, and does not end among them.
bool TerminalMasks::PlainStretch(ExprId e, std::size_t& n_chars) {
  const ExprPool& pool = lexer_.pool();
  const std::vector<ExprId> choices =
      pool.node(e).kind == ExprKind::kOr
          ? std::vector<ExprId>(pool.children(e).begin(), pool.children(e).end())
          : std::vector{e};
  for (const ExprId choice : choices) {
    ExprId head = choice, rest = kEmptyText;
    if (pool.node(choice).kind == ExprKind::kConcat) {
      head = pool.node(choice).a;
      rest = pool.node(choice).b;
    }
    const ExprPool::Node repeat = pool.node(head);
    if (repeat.kind != ExprKind::kRepeat || repeat.has_logic || !TakesPlainOneByOne(repeat.a)) {
      continue;
    }
    n_chars = repeat.max;
    // A loop without end takes them all, beside whatever else may be under way.
    if (repeat.max == kUnbounded &&
        std::ranges::all_of(choices, [this](ExprId c) { return EndsUnlikePlain(c); })) {
      return true;
    }
    if (choices.size() == 1 && RefusesPlain(rest)) return true;
  }
  return false;
}

// Whether the last byte of all texts is none of a plain character.
bool TerminalMasks::EndsUnlikePlain(ExprId e) const {
  const ExprPool& pool = lexer_.pool();
  while (pool.node(e).kind == ExprKind::kConcat) e = pool.node(e).b;
  if (pool.node(e).kind == ExprKind::kOr) {
    return std::ranges::all_of(pool.children(e), [this](ExprId c) { return EndsUnlikePlain(c); });
  }
  return pool.node(e).kind == ExprKind::kBytes &&
         std::ranges::all_of(pool.edges(e), [](const ExprPool::Edge& edge) {
           return edge.target == kEmptyText && edge.first == edge.last && edge.last < 0x80 &&
                  !Vocabulary::IsPlain(edge.first);
         });
}

bool TerminalMasks::TakesPlainOneByOne(ExprId item) {
  if (const auto known = one_by_one_.find(item); known != one_by_one_.end()) return known->second;
  ExprPool& pool = lexer_.pool();
  std::vector<std::pair<ExprId, ExprId>> todo{{pool.Chars(PlainChars()), item}};
  const std::vector<std::uint8_t> bytes = ClassBytes(pool);
  bool takes = true;
  for (std::size_t i = 0; i < todo.size() && takes; ++i) {
    for (const std::uint8_t byte : bytes) {
      const ExprId plain = pool.Derivative(todo[i].first, byte);
      if (plain == kEmptySet) continue;
      const ExprId rest = pool.Derivative(todo[i].second, byte);
      if (plain == kEmptyText ? rest != kEmptyText : rest == kEmptySet) takes = false;
      if (!takes) break;
      const std::pair next{plain, rest};
      if (plain != kEmptyText && std::ranges::find(todo, next) == todo.end()) todo.push_back(next);
    }
  }
  return one_by_one_[item] = takes;
}

bool TerminalMasks::RefusesPlain(ExprId rest) {
  ExprPool& pool = lexer_.pool();
  const ExprId plain = pool.Chars(PlainChars());
  return std::ranges::none_of(ClassBytes(pool), [&](std::uint8_t byte) {
    return pool.Derivative(plain, byte) != kEmptySet && pool.Derivative(rest, byte) != kEmptySet;
  });
}

void TerminalMasks::Walk(const TokenTrie& trie, LexState from, TerminalMask& mask,
                         std::vector<TokenId>& tokens) const {
  const std::size_t n_free = lexer_.pool().FreeInHost(lexer_.expr(from));
  if (n_free > 0) return WalkALabel(trie, from, n_free, mask, tokens);
  std::array<LexState, TokenTrie::kMaxDepth + 1> path{};
  path[0] = from;
  std::size_t n_visited = 0;
  for (std::uint32_t i = 0; i < trie.size(); ++n_visited) {
    const TokenTrie::Node& node = trie[i];
    const LexState state = lexer_.Next(path[node.depth - 1u], node.byte);
    if (state == kDead) {
      i = node.end;
      continue;
    }
    path[node.depth] = state;
    mask.longest = std::max<std::size_t>(mask.longest, node.depth);
    const auto ending = trie.tokens(i);
    tokens.insert(tokens.end(), ending.begin(), ending.end());
    if (lexer_.accepts(state) && node.end > i + 1) mask.exits.push_back(i);
    i = lexer_.is_final(state) ? node.end : i + 1;
  }
  lexer_.Spend(n_visited / 16);
}

// Letters, digits and hyphens all go on there, each to a state of its own: these are made only for
// tokens that ask whether the label may end, and forgotten, as no other mask asks for them.
void TerminalMasks::WalkALabel(const TokenTrie& trie, LexState from, std::size_t n_free,
                               TerminalMask& mask, std::vector<TokenId>& tokens) const {
  const Lexer::Mark before = lexer_.Now();
  ExprPool& pool = lexer_.pool();
  std::array<bool, 256> may_end{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto b = static_cast<std::uint8_t>(byte);
    may_end[byte] = b == '.' || pool.Derivative(pool.node(lexer_.expr(from)).b, b) != kEmptySet;
  }
  constexpr LexState kNotMade = UINT32_MAX;
  std::array<LexState, TokenTrie::kMaxDepth + 1> path{};
  std::array<std::uint8_t, TokenTrie::kMaxDepth + 1> bytes{};
  path[0] = from;
  std::size_t n_visited = 0;
  for (std::uint32_t i = 0; i < trie.size(); ++n_visited) {
    const TokenTrie::Node& node = trie[i];
    const auto ending = trie.tokens(i);
    const bool goes_on = HostName::MayBeInALabel(node.byte);
    bytes[node.depth] = node.byte;
    if (goes_on && node.depth <= n_free) {
      path[node.depth] = kNotMade;
      mask.longest = std::max<std::size_t>(mask.longest, node.depth);
      tokens.insert(tokens.end(), ending.begin(), ending.end());
      ++i;
      continue;
    }
    std::size_t made = node.depth - 1u;
    const bool may_be = goes_on || path[made] != kNotMade || may_end[node.byte];
    while (may_be && path[made] == kNotMade) --made;
    for (; may_be && made + 1 < node.depth; ++made) {
      path[made + 1] = lexer_.Next(path[made], bytes[made + 1]);
    }
    const LexState state = may_be ? lexer_.Next(path[made], node.byte) : kDead;
    if (state == kDead) {
      i = node.end;
      continue;
    }
    path[node.depth] = state;
    mask.longest = std::max<std::size_t>(mask.longest, node.depth);
    tokens.insert(tokens.end(), ending.begin(), ending.end());
    if (lexer_.accepts(state) && node.end > i + 1) mask.exits.push_back(i);
    i = lexer_.is_final(state) ? node.end : i + 1;
  }
  lexer_.Spend(n_visited / 16);
  lexer_.RollBack(before);
}

// Most of what `whole` takes is what it takes without its complements: only tokens that go along
// with these must be looked at. So the names of an object's other members cost little.
TerminalMask TerminalMasks::WithoutSome(ExprId whole, ExprId without_nots, ExprId nots) {
  const LexState whole_state = lexer_.StateOf(whole);
  const LexState nots_state = lexer_.StateOf(nots);
  const LexState wide_state = lexer_.StateOf(without_nots);
  TerminalMask mask = Of(wide_state);
  if (mask.bits.empty()) {
    mask.bits.resize(vocabulary_.n_words());
    for (const TokenId id : mask.ids) SetBit(mask.bits, id);
    mask.ids.clear();
  }
  MarkRefused(vocabulary_.trie(), whole_state, nots_state, /*for_exits=*/false, mask);
  MarkRefused(mask.exits_of_rest ? vocabulary_.rest_trie() : vocabulary_.trie(), whole_state,
              nots_state, /*for_exits=*/true, mask);
  MergeExits(mask);
  return mask;
}

// Takes from the mask the tokens, or the exits, that `whole` refuses while `nots` goes along.
void TerminalMasks::MarkRefused(const TokenTrie& trie, LexState whole, LexState nots,
                                bool for_exits, TerminalMask& mask) const {
  struct Pair {
    LexState whole, nots;
  };
  std::array<Pair, TokenTrie::kMaxDepth + 1> path{};
  path[0] = {whole, nots};
  std::vector<std::uint32_t> refused;
  std::size_t n_visited = 0;
  for (std::uint32_t i = 0; i < trie.size(); ++n_visited) {
    const TokenTrie::Node& node = trie[i];
    const Pair& above = path[node.depth - 1u];
    const Pair now{lexer_.Next(above.whole, node.byte), lexer_.Next(above.nots, node.byte)};
    path[node.depth] = now;
    if (now.nots == kDead) {
      i = node.end;
    } else if (now.whole == kDead) {
      if (for_exits) {
        for (std::uint32_t at = i; at < node.end; ++at) refused.push_back(at);
      } else {
        for (const TokenId id : trie.all_tokens(i)) ClearBit(mask.bits, id);
      }
      i = node.end;
    } else {
      if (for_exits && !lexer_.accepts(now.whole)) refused.push_back(i);
      ++i;
    }
  }
  lexer_.Spend(n_visited / 16);
  if (!for_exits) return;
  std::vector<std::uint32_t> left;
  std::ranges::set_difference(mask.exits, refused, std::back_inserter(left));
  mask.exits = std::move(left);
}

void TerminalMasks::MergeExits(TerminalMask& mask) const {
  const TokenTrie& trie = mask.exits_of_rest ? vocabulary_.rest_trie() : vocabulary_.trie();
  mask.below.reset();
  std::size_t n = 0;
  for (const std::uint32_t exit : mask.exits) {
    n += trie[exit].end - exit;
    if (n > kMaxMergedNodes) return;
  }
  mask.below = TokenTrie::Below(trie, mask.exits);
}

}  // namespace lattice::grammar
