#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/lexer.h"
#include "grammar/word_interner.h"

namespace lattice::grammar {

/// A place in the texts of a grammar: all that what was read says about what may follow. Equal
/// places have equal numbers.
using State = std::uint32_t;
inline constexpr State kNoState = 0;  ///< Nothing may follow, and it is no end either.

struct ParserLimits {
  LexerLimits lexer;
  std::size_t max_items = 20'000;      ///< Of the rules, under way at one place.
  std::size_t max_bytes = 192u << 20;  ///< Of all places.
};

/// Reads texts of a grammar byte by byte, all readings of an ambiguous text at once.
///
/// A generalised (Earley) parser whose sets are numbered by their content: a text that comes back
/// to the same place, another item of a list or another string, finds the work done. Where a rule
/// ends with the use of another one, the latter returns to whoever waits for the former, so that
/// right recursion needs no memory.
///
/// Every state but kNoState can be completed to a text of the grammar.
/// Source  Earley 1970; Aycock and Horspool 2002 (empty rules); Leo 1991 (right recursion).
class Parser {
 public:
  /// A rule's step under way, `count` turns of a repetition done, and who waits for the rule.
  struct Item {
    std::uint32_t step;
    std::uint32_t count;
    std::uint32_t waiter;
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 sees one in a defaulted comparison.
    friend auto operator<=>(const Item&, const Item&) = default;
  };
  /// An item at a terminal that has been read in part.
  struct Thread {
    Item item;
    LexState state;
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 sees one in a defaulted comparison.
    friend auto operator<=>(const Thread&, const Thread&) = default;
  };

  Parser(std::shared_ptr<const Grammar> grammar, const ParserLimits& limits);

  State start() const { return start_; }
  /// After an error, kNoState, and `error` says why.
  State Next(State state, std::uint8_t byte);
  bool is_complete(State state) const { return states_[state][0] != 0; }
  bool can_continue(State state) const { return states_[state].size() > 1; }

  std::size_t n_threads(State state) const { return (states_[state].size() - 1) / 4; }
  Thread thread(State state, std::size_t i) const;
  /// The place after a thread whose terminal ends here.
  State After(const Item& item);

  Lexer& lexer() { return lexer_; }
  const Lexer& lexer() const { return lexer_; }
  const std::optional<Error>& error() const { return lexer_.error() ? lexer_.error() : error_; }
  std::size_t n_bytes() const;

 private:
  static constexpr std::uint32_t kNobody = UINT32_MAX;  // waits for the root: the text is complete

  // An item before its waiter is known: that of an item of the core, or of a rule begun here.
  struct Begun {
    std::uint32_t step;
    std::uint32_t core;  // index, or kNoCore: begun here
    std::uint32_t rule;
  };

  void Advance(const Item& item);
  void Add(const Item& item);
  // These two leave what they find in words_.
  void Core(bool& complete);
  void Begin(bool complete);
  State Close();
  void BeginRules();
  std::uint32_t WaiterOf(std::uint32_t rule);
  void PutThreads(std::vector<Thread>& threads, bool complete);
  bool IsTail(std::uint32_t step) const;
  bool IsRepeat(std::uint32_t step) const;
  void CheckLimits(std::size_t n_items);

  std::shared_ptr<const Grammar> grammar_;
  ParserLimits limits_;
  Lexer lexer_;
  std::optional<Error> error_;

  WordInterner states_;   // complete?, then threads, sorted
  WordInterner sets_;     // complete?, then core items, sorted
  WordInterner kernels_;  // items that have just moved on
  std::vector<State> state_of_set_;
  std::vector<State> state_of_kernel_;
  std::vector<std::vector<Item>> waiting_;  // by waiter
  std::unordered_map<std::uint64_t, State> next_;
  std::size_t n_waiting_items_ = 0;
  State start_ = kNoState;

  // Of the closure under way.
  std::vector<Item> items_;
  WordInterner seen_;
  std::vector<Item> core_;
  struct RuleUse {
    std::uint32_t n_users = 0;
    std::uint32_t first_user = 0;  // index of what was begun
    std::uint32_t waiter = kNobody - 1;
    bool owns = false;  // the waiter is of this rule alone
  };
  std::vector<RuleUse> uses_;        // by rule
  std::vector<std::uint32_t> used_;  // the rules that are used
  std::vector<Begun> begun_;
  std::vector<Thread> begun_threads_;
  std::vector<std::uint32_t> chain_;

  // Of the step under way.
  std::vector<Thread> threads_;
  std::vector<Item> ended_;
  std::vector<std::uint32_t> kernel_;
  std::vector<std::uint32_t> words_;
};

}  // namespace lattice::grammar
