#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "grammar/char_set.h"
#include "grammar/host_name.h"
#include "grammar/work_budget.h"
#include "lattice/result.h"

namespace lattice::grammar {

/// Index of a node of an ExprPool.
using ExprId = std::uint32_t;
inline constexpr ExprId kEmptySet = 0;   ///< No text.
inline constexpr ExprId kEmptyText = 1;  ///< The empty text.
inline constexpr ExprId kAnyBytes = 2;   ///< Any sequence of bytes.

inline constexpr std::uint32_t kUnbounded = UINT32_MAX;

enum class ExprKind : std::uint8_t {
  kNoText,
  kNil,
  kBytes,   ///< One byte of the edges' ranges, then what the edge leads to.
  kConcat,  ///< a, then b; a is no kConcat.
  kOr,
  kAnd,
  kNot,
  kRepeat,  ///< min to max times a.
  kHost,    ///< What may follow in a host name: min, max and what stands for children.
};

/// Regular expressions over bytes as nodes that are never built twice, so that equal ones have
/// equal ids, with their derivatives: Derivative(e, b) matches what may follow b in the texts of e.
/// A lazily built DFA has expressions as its states.
///
/// Past the limits, makers answer kEmptySet and the pool says `exhausted`. Source  Brzozowski 1964,
/// "Derivatives of regular expressions"; counters stay numbers.
class ExprPool {
 public:
  struct Edge {
    std::uint8_t first;
    std::uint8_t last;
    ExprId target;
    friend bool operator==(const Edge&, const Edge&) = default;
  };
  struct Node {
    ExprKind kind = ExprKind::kNoText;
    bool nullable = false;     ///< Matches the empty text.
    bool has_logic = false;    ///< An And or Not within: may be empty without looking so.
    bool has_counter = false;  ///< A repetition with a bound within.
    bool is_sure = false;      ///< Matches something, as its parts show.
    std::uint16_t depth = 0;
    /// No text is shorter, and none longer; kManyBytes for more than can be said.
    std::uint16_t shortest = 0;
    std::uint16_t longest = 0;
    std::uint32_t a = 0;  ///< First child; or the first of the children or edges.
    std::uint32_t b = 0;  ///< Second child; or the number of children or edges.
    std::uint32_t min = 0;
    std::uint32_t max = 0;
    friend bool operator==(const Node&, const Node&) = default;
  };

  static constexpr std::uint16_t kManyBytes = UINT16_MAX;

  ExprPool(std::size_t max_nodes, std::size_t max_depth);

  ExprId Bytes(std::vector<Edge> edges);  ///< Edges apart, in any order.
  ExprId Chars(const CharSet& set);
  ExprId Literal(std::string_view bytes);
  ExprId Concat(ExprId a, ExprId b);
  ExprId Or(std::vector<ExprId> choices);
  ExprId And(std::vector<ExprId> all);
  ExprId Not(ExprId e);
  ExprId Repeat(ExprId e, std::uint32_t min, std::uint32_t max);
  ExprId HostNames();  ///< See HostName.

  /// HostName::n_free, where nothing but a host name and what follows it is under way.
  std::size_t FreeInHost(ExprId e) const;

  ExprId Derivative(ExprId e, std::uint8_t byte);

  /// The same prefixes of at most `n_bytes` bytes can still become a text, and the same ones are
  /// texts; counters that such a prefix cannot exhaust are gone.
  ExprId Clamp(ExprId e, std::uint32_t n_bytes);

  /// Equal for equal expressions of any two pools, and only for those. Empty when it would be
  /// longer than max_size.
  std::string Key(ExprId e, std::size_t max_size) const;

  const Node& node(ExprId e) const { return nodes_[e]; }
  std::span<const ExprId> children(ExprId e) const {
    return {children_.data() + nodes_[e].a, nodes_[e].b};
  }
  std::span<const Edge> edges(ExprId e) const { return {edges_.data() + nodes_[e].a, nodes_[e].b}; }
  bool nullable(ExprId e) const { return nodes_[e].nullable; }
  std::size_t size() const { return nodes_.size(); }
  /// Forgets all but the first n nodes; those that were made of them must be of no more use.
  void Truncate(std::size_t n);
  std::size_t n_bytes() const;
  bool exhausted() const { return is_full_ || work_.ran_out(); }
  /// Why, when exhausted.
  Error exhaustion() const;

  /// Of all that is made here; others spend from it, too.
  WorkBudget& work() { return work_; }
  const WorkBudget& work() const { return work_; }
  void SetLimits(std::size_t max_nodes, std::size_t max_depth) {
    max_nodes_ = max_nodes;
    max_depth_ = max_depth;
  }
  std::size_t max_depth() const { return max_depth_; }

  /// Whether a byte and the one before it are told apart by some expression. Derivatives never
  /// tell more apart.
  const std::array<bool, 256>& boundaries() const { return boundaries_; }

 private:
  ExprId Intern(Node node, std::span<const ExprId> children, std::span<const Edge> edges);
  bool Same(ExprId e, const Node& node, std::span<const ExprId> children,
            std::span<const Edge> edges) const;
  void Rehash(std::size_t n_slots);
  ExprId Join(std::vector<ExprId> parts, bool is_or);
  void MergeRepeats(std::vector<ExprId>& choices);
  void JoinBehindHeads(std::vector<ExprId>& parts, bool is_or);
  ExprId Host(const HostName& name);
  HostName HostOf(ExprId e) const;
  ExprId MergeBytes(ExprId a, ExprId b, bool is_or);
  ExprId DeriveNoConcat(ExprId e, std::uint8_t byte);

  std::vector<Node> nodes_;
  std::vector<ExprId> children_;
  std::vector<Edge> edges_;
  std::vector<std::uint64_t> hashes_;
  std::vector<ExprId> slots_;  // open addressing, a power of two; 0 = free (kEmptySet is not in it)
  std::size_t max_nodes_;
  std::size_t max_depth_;
  bool is_full_ = false;
  WorkBudget work_;
  int join_depth_ = 0;
  std::array<bool, 256> boundaries_{};
};

}  // namespace lattice::grammar
