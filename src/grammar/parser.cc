#include "grammar/parser.h"

#include <algorithm>
#include <string>
#include <utility>

namespace lattice::grammar {
namespace {

using Kind = Grammar::Step::Kind;
using Item = Parser::Item;

constexpr std::uint32_t kNoCore = UINT32_MAX;
constexpr std::uint32_t kNoWaiter = UINT32_MAX - 1;

void PutItem(const Item& item, std::vector<std::uint32_t>& words) {
  words.insert(words.end(), {item.step, item.count, item.waiter});
}

}  // namespace

Parser::Parser(std::shared_ptr<const Grammar> grammar, const ParserLimits& limits)
    : grammar_(std::move(grammar)), limits_(limits), lexer_(grammar_->pool(), limits.lexer) {
  const std::uint32_t nothing[] = {0};
  states_.Intern(nothing);  // kNoState
  items_.clear();
  seen_.Clear();
  for (const std::uint32_t step : grammar_->rules()[0].starts) Add({step, 0, kNobody});
  bool complete = grammar_->rules()[0].nullable;
  const std::vector<std::uint32_t> core = Core(complete);
  const auto [set, is_new] = sets_.Intern(core);
  state_of_set_.push_back(states_.Intern(Begin(complete)).id);
  start_ = state_of_set_[set];
}

std::size_t Parser::n_bytes() const {
  return lexer_.n_bytes() + states_.n_bytes() + sets_.n_bytes() + kernels_.n_bytes() +
         n_waiting_items_ * sizeof(Item) + waiting_.size() * sizeof(waiting_[0]) +
         next_.size() * 40;
}

void Parser::CheckLimits(std::size_t n_items) {
  if (error()) return;
  if (n_items > limits_.max_items) {
    error_ = Error{ErrorCode::kResourceExhausted,
                   "more than " + std::to_string(limits_.max_items) +
                       " rules of the grammar are under way at one place"};
  } else if (n_bytes() > limits_.max_bytes) {
    error_ = Error{ErrorCode::kResourceExhausted, "the text needs more than " +
                                                      std::to_string(limits_.max_bytes) +
                                                      " bytes for places of the grammar"};
  }
}

Parser::Thread Parser::thread(State state, std::size_t i) const {
  const auto w = states_[state].subspan(1 + 4 * i, 4);
  return {{w[0], w[1], w[2]}, w[3]};
}

bool Parser::IsRepeat(std::uint32_t step) const {
  const Grammar::Step& next = grammar_->steps()[step + 1];
  return next.kind == Kind::kEnd && grammar_->rules()[next.target].is_repeat;
}

// Nothing but the rule's end follows.
bool Parser::IsTail(std::uint32_t step) const {
  return grammar_->steps()[step + 1].kind == Kind::kEnd && !IsRepeat(step);
}

void Parser::Add(const Item& item) {
  const std::uint32_t words[] = {item.step, item.count, item.waiter};
  if (seen_.Intern(words).is_new) items_.push_back(item);
}

// The item's step has been read, and was not empty.
void Parser::Advance(const Item& item) {
  if (!IsRepeat(item.step)) {
    Add({item.step + 1, 0, item.waiter});
    return;
  }
  const auto& rule = grammar_->rules()[grammar_->steps()[item.step + 1].target];
  const std::uint32_t done = item.count + 1;
  // Without an upper bound, turns past the lower one need not be counted.
  const bool has_bound = rule.max != kNoLimit;
  if (!has_bound || done < rule.max) {
    Add({item.step, has_bound ? done : std::min(done, rule.min), item.waiter});
  }
  if (done >= rule.min) Add({item.step + 1, 0, item.waiter});
}

// Follows the ends of rules among items_; what is left is the core.
std::vector<std::uint32_t> Parser::Core(bool& complete) {
  core_.clear();
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const Item item = items_[i];
    const Grammar::Step& step = grammar_->steps()[item.step];
    if (step.kind != Kind::kEnd) {
      core_.push_back(item);
      if (step.nullable && !IsRepeat(item.step)) Add({item.step + 1, 0, item.waiter});
    } else if (item.waiter == kNobody) {
      complete = true;
    } else {
      const std::vector<Item> waiters = waiting_[item.waiter];
      lexer_.Spend(waiters.size() / 4);
      for (const Item& waiting : waiters) Advance(waiting);
    }
    lexer_.Spend(1);
    CheckLimits(items_.size());
    if (error()) break;
  }
  std::ranges::sort(core_);
  std::vector<std::uint32_t> words{complete ? 1u : 0u};
  for (const Item& item : core_) PutItem(item, words);
  return words;
}

State Parser::Close(std::vector<std::uint32_t>& kernel) {
  const auto [id, is_new] = kernels_.Intern(kernel);
  if (!is_new) return state_of_kernel_[id];
  items_.clear();
  seen_.Clear();
  for (std::size_t i = 0; i < kernel.size(); i += 3) {
    Advance({kernel[i], kernel[i + 1], kernel[i + 2]});
  }
  bool complete = false;
  const std::vector<std::uint32_t> core = Core(complete);
  const auto set = sets_.Intern(core);
  if (set.is_new) {
    const std::vector<std::uint32_t> words = Begin(complete);
    state_of_set_.push_back(states_.Intern(words).id);
  }
  state_of_kernel_.push_back(state_of_set_[set.id]);
  return state_of_kernel_.back();
}

// Adds the items of all rules that core_ and they themselves use, and who uses them to uses_.
void Parser::BeginRules(std::vector<Begun>& begun) {
  for (std::uint32_t i = 0; i < core_.size(); ++i) begun.push_back({core_[i].step, i, 0});
  for (std::uint32_t i = 0; i < begun.size(); ++i) {
    lexer_.Spend(1);
    const Grammar::Step& step = grammar_->steps()[begun[i].step];
    if (step.kind != Kind::kRule) continue;
    RuleUse& use = uses_[step.target];
    use.begun.push_back(i);
    if (use.begun.size() > 1) continue;
    for (std::uint32_t start : grammar_->rules()[step.target].starts) {
      // Past what may be empty; the end of an empty rule was seen to where it is used.
      for (;; ++start) {
        const Grammar::Step& first = grammar_->steps()[start];
        if (first.kind == Kind::kEnd) break;
        begun.push_back({start, kNoCore, step.target});
        if (!first.nullable || IsRepeat(start)) break;
      }
    }
    CheckLimits(begun.size());
    if (error()) return;
  }
}

// Who waits for a rule that begins at this set. With one user at whose end nothing follows, it is
// the one who waits for that user.
std::uint32_t Parser::WaiterOf(std::uint32_t rule, const std::vector<Begun>& begun) {
  std::vector<std::uint32_t> chain;
  std::uint32_t waiter = kNoWaiter;
  while (waiter == kNoWaiter) {
    RuleUse& use = uses_[rule];
    if (use.waiter != kNoWaiter) {
      waiter = use.waiter;
      break;
    }
    chain.push_back(rule);
    const Begun& user = begun[use.begun[0]];
    if (use.begun.size() > 1 || !IsTail(user.step)) {
      waiter = static_cast<std::uint32_t>(waiting_.size());
      waiting_.emplace_back();
      use.owns = true;
    } else if (user.core != kNoCore) {
      waiter = core_[user.core].waiter;
    } else {
      rule = user.rule;
    }
  }
  for (const std::uint32_t r : chain) uses_[r].waiter = waiter;
  return waiter;
}

// The state of a new set, whose core is core_.
std::vector<std::uint32_t> Parser::Begin(bool complete) {
  uses_.clear();
  std::vector<Begun> begun;
  BeginRules(begun);
  if (error()) return {0};
  std::vector<Thread> threads;
  for (const Begun& b : begun) {
    const Grammar::Step& step = grammar_->steps()[b.step];
    const Item item = b.core != kNoCore ? core_[b.core] : Item{b.step, 0, WaiterOf(b.rule, begun)};
    if (step.kind == Kind::kTerminal) {
      if (const LexState state = lexer_.StateOf(step.target)) threads.push_back({item, state});
      continue;
    }
    const std::uint32_t waiter = WaiterOf(step.target, begun);
    if (uses_[step.target].owns) {
      waiting_[waiter].push_back(item);
      ++n_waiting_items_;
    }
  }
  std::ranges::sort(threads);
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  std::vector<std::uint32_t> words{complete ? 1u : 0u};
  for (const Thread& t : threads) {
    PutItem(t.item, words);
    words.push_back(t.state);
  }
  return words;
}

State Parser::After(const Item& item) {
  std::vector<std::uint32_t> kernel;
  PutItem(item, kernel);
  const State after = Close(kernel);
  return error() ? kNoState : after;
}

State Parser::Next(State state, std::uint8_t byte) {
  const std::uint64_t key = (std::uint64_t{state} << 8) | byte;
  if (const auto known = next_.find(key); known != next_.end()) return known->second;
  lexer_.Spend(1 + n_threads(state) / 2);
  std::vector<Thread> threads;
  std::vector<Item> ended;
  for (std::size_t i = 0; i < n_threads(state); ++i) {
    Thread t = thread(state, i);
    t.state = lexer_.Next(t.state, byte);
    if (t.state == kDead) continue;
    if (lexer_.accepts(t.state)) ended.push_back(t.item);
    if (!lexer_.is_final(t.state)) threads.push_back(t);
  }
  bool complete = false;
  if (!ended.empty()) {
    std::ranges::sort(ended);
    ended.erase(std::unique(ended.begin(), ended.end()), ended.end());
    std::vector<std::uint32_t> kernel;
    for (const Item& item : ended) PutItem(item, kernel);
    const State after = Close(kernel);
    complete = is_complete(after);
    for (std::size_t i = 0; i < n_threads(after); ++i) threads.push_back(thread(after, i));
    std::ranges::sort(threads);
    threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  }
  CheckLimits(threads.size());
  if (error()) return kNoState;
  std::vector<std::uint32_t> words{complete ? 1u : 0u};
  for (const Thread& t : threads) {
    PutItem(t.item, words);
    words.push_back(t.state);
  }
  const State next = states_.Intern(words).id;
  next_.emplace(key, next);
  return next;
}

}  // namespace lattice::grammar
