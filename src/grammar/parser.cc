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
  uses_.resize(grammar_->rules().size());
  Core(complete);
  sets_.Intern(words_);
  Begin(complete);
  start_ = states_.Intern(words_).id;
  state_of_set_.push_back(start_);
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
void Parser::Core(bool& complete) {
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
      const std::vector<Item>& waiters = waiting_[item.waiter];
      lexer_.Spend(waiters.size() / 4);
      for (const Item& waiting : waiters) Advance(waiting);
    }
    lexer_.Spend(1);
    CheckLimits(items_.size());
    if (error()) break;
  }
  std::ranges::sort(core_);
  words_.assign(1, complete ? 1u : 0u);
  for (const Item& item : core_) PutItem(item, words_);
}

// The place after the items of kernel_.
State Parser::Close() {
  const auto [id, is_new] = kernels_.Intern(kernel_);
  if (!is_new) return state_of_kernel_[id];
  items_.clear();
  seen_.Clear();
  for (std::size_t i = 0; i < kernel_.size(); i += 3) {
    Advance({kernel_[i], kernel_[i + 1], kernel_[i + 2]});
  }
  bool complete = false;
  Core(complete);
  const auto set = sets_.Intern(words_);
  if (set.is_new) {
    Begin(complete);
    state_of_set_.push_back(states_.Intern(words_).id);
  }
  state_of_kernel_.push_back(state_of_set_[set.id]);
  return state_of_kernel_.back();
}

// What core_ and the rules that it and they themselves use begin with, and who uses them.
void Parser::BeginRules() {
  for (const std::uint32_t rule : used_) uses_[rule] = {};
  used_.clear();
  begun_.clear();
  for (std::uint32_t i = 0; i < core_.size(); ++i) begun_.push_back({core_[i].step, i, 0});
  for (std::uint32_t i = 0; i < begun_.size(); ++i) {
    lexer_.Spend(1);
    const Grammar::Step& step = grammar_->steps()[begun_[i].step];
    if (step.kind != Kind::kRule) continue;
    RuleUse& use = uses_[step.target];
    if (++use.n_users > 1) continue;
    use.first_user = i;
    used_.push_back(step.target);
    for (std::uint32_t start : grammar_->rules()[step.target].starts) {
      // Past what may be empty; the end of an empty rule was seen to where it is used.
      for (;; ++start) {
        const Grammar::Step& first = grammar_->steps()[start];
        if (first.kind == Kind::kEnd) break;
        begun_.push_back({start, kNoCore, step.target});
        if (!first.nullable || IsRepeat(start)) break;
      }
    }
    CheckLimits(begun_.size());
    if (error()) return;
  }
}

// Who waits for a rule that begins at this set. With one user at whose end nothing follows, it is
// the one who waits for that user.
std::uint32_t Parser::WaiterOf(std::uint32_t rule) {
  chain_.clear();
  std::uint32_t waiter = kNoWaiter;
  while (waiter == kNoWaiter) {
    RuleUse& use = uses_[rule];
    if (use.waiter != kNoWaiter) {
      waiter = use.waiter;
      break;
    }
    chain_.push_back(rule);
    const Begun& user = begun_[use.first_user];
    if (use.n_users > 1 || !IsTail(user.step)) {
      waiter = static_cast<std::uint32_t>(waiting_.size());
      waiting_.emplace_back();
      use.owns = true;
    } else if (user.core != kNoCore) {
      waiter = core_[user.core].waiter;
    } else {
      rule = user.rule;
    }
  }
  for (const std::uint32_t r : chain_) uses_[r].waiter = waiter;
  return waiter;
}

// The state of a new set, whose core is core_.
void Parser::Begin(bool complete) {
  BeginRules();
  if (error()) {
    words_.assign(1, 0);
    return;
  }
  begun_threads_.clear();
  for (const Begun& b : begun_) {
    const Grammar::Step& step = grammar_->steps()[b.step];
    const Item item = b.core != kNoCore ? core_[b.core] : Item{b.step, 0, WaiterOf(b.rule)};
    if (step.kind == Kind::kTerminal) {
      const LexState state = lexer_.StateOf(step.target);
      if (state != kDead && !lexer_.is_final(state)) begun_threads_.push_back({item, state});
      continue;
    }
    const std::uint32_t waiter = WaiterOf(step.target);
    if (uses_[step.target].owns) {
      waiting_[waiter].push_back(item);
      ++n_waiting_items_;
    }
  }
  PutThreads(begun_threads_, complete);
}

// A state's words: whether the text is complete, and its threads in order.
void Parser::PutThreads(std::vector<Thread>& threads, bool complete) {
  std::ranges::sort(threads);
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  words_.assign(1, complete ? 1u : 0u);
  for (const Thread& t : threads) {
    PutItem(t.item, words_);
    words_.push_back(t.state);
  }
}

State Parser::After(const Item& item) {
  kernel_.clear();
  PutItem(item, kernel_);
  const State after = Close();
  return error() ? kNoState : after;
}

State Parser::Next(State state, std::uint8_t byte) {
  const std::uint64_t key = (std::uint64_t{state} << 8) | byte;
  if (const auto known = next_.find(key); known != next_.end()) return known->second;
  lexer_.Spend(1 + n_threads(state) / 2);
  threads_.clear();
  ended_.clear();
  for (std::size_t i = 0; i < n_threads(state); ++i) {
    Thread t = thread(state, i);
    t.state = lexer_.Next(t.state, byte);
    if (t.state == kDead) continue;
    if (lexer_.accepts(t.state)) ended_.push_back(t.item);
    if (!lexer_.is_final(t.state)) threads_.push_back(t);
  }
  bool complete = false;
  if (!ended_.empty()) {
    std::ranges::sort(ended_);
    ended_.erase(std::unique(ended_.begin(), ended_.end()), ended_.end());
    kernel_.clear();
    for (const Item& item : ended_) PutItem(item, kernel_);
    const State after = Close();
    complete = is_complete(after);
    for (std::size_t i = 0; i < n_threads(after); ++i) threads_.push_back(thread(after, i));
  }
  PutThreads(threads_, complete);
  CheckLimits(threads_.size());
  if (error()) return kNoState;
  const State next = states_.Intern(words_).id;
  next_.emplace(key, next);
  return next;
}

}  // namespace lattice::grammar
