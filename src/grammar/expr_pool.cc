#include "grammar/expr_pool.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>

#include "grammar/meet_counters.h"
#include "grammar/utf8_ranges.h"
#include "lattice/check.h"

namespace lattice::grammar {
namespace {

using Node = ExprPool::Node;
using Edge = ExprPool::Edge;

std::uint64_t Mix(std::uint64_t h, std::uint64_t v) {
  h = (h ^ v) * 0x9E3779B97F4A7C15ull;
  return h ^ (h >> 29);
}

std::uint64_t HashOf(const Node& node, std::span<const ExprId> children,
                     std::span<const Edge> edges) {
  std::uint64_t h = Mix(static_cast<std::uint64_t>(node.kind), node.min);
  h = Mix(h, node.max);
  const bool is_list = !children.empty() || !edges.empty();
  if (!is_list) h = Mix(Mix(h, node.a), node.b);
  for (const ExprId c : children) h = Mix(h, c);
  for (const Edge& e : edges) {
    h = Mix(h, (std::uint64_t{e.target} << 16) | (std::uint64_t{e.first} << 8) | e.last);
  }
  return h;
}

// How deep common beginnings are joined; longer ones stay apart.
constexpr int kMaxJoinDepth = 200;

std::uint32_t TimesOrMore(std::uint32_t a, std::uint32_t b) {
  if (a == 0 || b == 0) return 0;
  if (a == kUnbounded || b == kUnbounded) return kUnbounded;
  const std::uint64_t product = std::uint64_t{a} * b;
  return product >= kUnbounded ? kUnbounded : static_cast<std::uint32_t>(product);
}

constexpr std::uint16_t kMany = ExprPool::kManyBytes;

std::uint16_t Plus(std::uint16_t a, std::uint16_t b) {
  return static_cast<std::uint16_t>(std::min<unsigned>(kMany, unsigned{a} + b));
}

std::uint16_t Times(std::uint16_t length, std::uint32_t count) {
  const std::uint64_t product = std::uint64_t{length} * count;
  return length != 0 && count == kUnbounded
             ? kMany
             : static_cast<std::uint16_t>(std::min<std::uint64_t>(kMany, product));
}

}  // namespace

ExprPool::ExprPool(std::size_t max_nodes, std::size_t max_depth)
    : max_nodes_(max_nodes), max_depth_(max_depth) {
  nodes_.resize(2);
  hashes_.resize(2);
  nodes_[kEmptySet].shortest = kMany;
  nodes_[kEmptyText] = {.kind = ExprKind::kNil, .nullable = true, .is_sure = true};
  Rehash(64);
  const ExprId any = Intern(
      {.kind = ExprKind::kNot, .nullable = true, .is_sure = true, .longest = kMany, .a = kEmptySet},
      {}, {});
  LATTICE_CHECK(any == kAnyBytes);
}

Error ExprPool::exhaustion() const {
  if (work_.ran_out()) {
    return {ErrorCode::kResourceExhausted,
            "the expressions take too much work: simpler patterns, smaller counts or fewer "
            "conditions on one text help"};
  }
  return {ErrorCode::kResourceExhausted,
          "an expression nests deeper than " + std::to_string(max_depth_) +
              ", or all together have more than " + std::to_string(max_nodes_) + " nodes"};
}

std::size_t ExprPool::n_bytes() const {
  return nodes_.capacity() * sizeof(Node) + children_.capacity() * sizeof(ExprId) +
         edges_.capacity() * sizeof(Edge) + hashes_.capacity() * 8 + slots_.capacity() * 4;
}

bool ExprPool::Same(ExprId e, const Node& node, std::span<const ExprId> kids,
                    std::span<const Edge> out) const {
  const Node& n = nodes_[e];
  if (n.kind != node.kind || n.min != node.min || n.max != node.max) return false;
  if (n.kind == ExprKind::kBytes) return std::ranges::equal(edges(e), out);
  if (n.kind == ExprKind::kOr || n.kind == ExprKind::kAnd || n.kind == ExprKind::kHost) {
    return std::ranges::equal(children(e), kids);
  }
  return n.a == node.a && n.b == node.b;
}

void ExprPool::Rehash(std::size_t n_slots) {
  slots_.assign(n_slots, 0);
  for (ExprId e = kAnyBytes; e < nodes_.size(); ++e) {
    std::size_t at = hashes_[e] & (n_slots - 1);
    while (slots_[at] != 0) at = (at + 1) & (n_slots - 1);
    slots_[at] = e;
  }
}

void ExprPool::Truncate(std::size_t n) {
  bool is_child = false, is_edge = false;
  for (std::size_t e = n; e < nodes_.size() && !(is_child && is_edge); ++e) {
    const ExprKind kind = nodes_[e].kind;
    if (!is_edge && kind == ExprKind::kBytes) {
      edges_.resize(nodes_[e].a);
      is_edge = true;
    } else if (!is_child && (kind == ExprKind::kOr || kind == ExprKind::kAnd ||
                             (kind == ExprKind::kHost && nodes_[e].b > 0))) {
      children_.resize(nodes_[e].a);
      is_child = true;
    }
  }
  nodes_.resize(n);
  hashes_.resize(n);
  Rehash(slots_.size());
  is_full_ = false;
}

ExprId ExprPool::Intern(Node node, std::span<const ExprId> kids, std::span<const Edge> out) {
  if (!work_.Spend(2 + (kids.size() + out.size()) / 4)) return kEmptySet;
  const std::uint64_t hash = HashOf(node, kids, out);
  std::size_t at = hash & (slots_.size() - 1);
  for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
    if (hashes_[slots_[at]] == hash && Same(slots_[at], node, kids, out)) return slots_[at];
  }
  if (nodes_.size() >= max_nodes_ || node.depth > max_depth_) {
    is_full_ = true;
    return kEmptySet;
  }
  if (!kids.empty()) {
    node.a = static_cast<std::uint32_t>(children_.size());
    node.b = static_cast<std::uint32_t>(kids.size());
    children_.insert(children_.end(), kids.begin(), kids.end());
  }
  if (!out.empty()) {
    node.a = static_cast<std::uint32_t>(edges_.size());
    node.b = static_cast<std::uint32_t>(out.size());
    edges_.insert(edges_.end(), out.begin(), out.end());
    for (const Edge& e : out) {
      boundaries_[e.first] = true;
      if (e.last < 255) boundaries_[e.last + 1u] = true;
    }
  }
  const auto id = static_cast<ExprId>(nodes_.size());
  nodes_.push_back(node);
  hashes_.push_back(hash);
  slots_[at] = id;
  if (nodes_.size() * 2 > slots_.size()) Rehash(slots_.size() * 2);
  return id;
}

ExprId ExprPool::Bytes(std::vector<Edge> out) {
  std::erase_if(out, [](const Edge& e) { return e.target == kEmptySet; });
  if (out.empty()) return kEmptySet;
  std::ranges::sort(out, {}, &Edge::first);
  std::size_t n = 1;
  for (std::size_t i = 1; i < out.size(); ++i) {
    Edge& last = out[n - 1];
    if (last.target == out[i].target && last.last + 1 == out[i].first) {
      last.last = out[i].last;
    } else {
      out[n++] = out[i];
    }
  }
  out.resize(n);
  Node node{.kind = ExprKind::kBytes, .shortest = kMany};
  for (const Edge& e : out) {
    const Node& then = nodes_[e.target];
    node.depth = std::max(node.depth, then.depth);
    node.has_logic = node.has_logic || then.has_logic;
    node.has_counter = node.has_counter || then.has_counter;
    node.is_sure = node.is_sure || then.is_sure;
    node.shortest = std::min(node.shortest, Plus(then.shortest, 1));
    node.longest = std::max(node.longest, Plus(then.longest, 1));
  }
  ++node.depth;
  return Intern(node, {}, out);
}

ExprId ExprPool::Chars(const CharSet& set) {
  return BytesOfChars(set, [this](std::vector<Edge> out) { return Bytes(std::move(out)); });
}

ExprId ExprPool::Literal(std::string_view bytes) {
  ExprId e = kEmptyText;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    e = Concat(Bytes({{byte, byte, kEmptyText}}), e);
  }
  return e;
}

ExprId ExprPool::Concat(ExprId a, ExprId b) {
  if (a == kEmptySet || b == kEmptySet) return kEmptySet;
  // The spine of `a` in front of `b`, so that a derivative looks at the first part alone.
  std::vector<ExprId> spine;
  for (; nodes_[a].kind == ExprKind::kConcat; a = nodes_[a].b) spine.push_back(nodes_[a].a);
  spine.push_back(a);
  for (std::size_t i = spine.size(); i-- > 0;) {
    const ExprId first = spine[i];
    if (first == kEmptyText) continue;
    if (b == kEmptyText) {
      b = first;
      continue;
    }
    const Node& x = nodes_[first];
    const Node& y = nodes_[b];
    const auto depth = std::max<std::uint16_t>(static_cast<std::uint16_t>(x.depth + 1), y.depth);
    b = Intern({.kind = ExprKind::kConcat,
                .nullable = x.nullable && y.nullable,
                .has_logic = x.has_logic || y.has_logic,
                .has_counter = x.has_counter || y.has_counter,
                .is_sure = x.is_sure && y.is_sure,
                .depth = depth,
                .shortest = Plus(x.shortest, y.shortest),
                .longest = Plus(x.longest, y.longest),
                .a = first,
                .b = b},
               {}, {});
    if (b == kEmptySet) return b;
  }
  return b;
}

ExprId ExprPool::Or(std::vector<ExprId> choices) { return Join(std::move(choices), true); }
ExprId ExprPool::And(std::vector<ExprId> all) { return Join(std::move(all), false); }

ExprId ExprPool::Join(std::vector<ExprId> parts, bool is_or) {
  if (!work_.Spend(2 + parts.size())) return kEmptySet;
  const ExprKind kind = is_or ? ExprKind::kOr : ExprKind::kAnd;
  const ExprId neutral = is_or ? kEmptySet : kAnyBytes;
  const ExprId absorbing = is_or ? kAnyBytes : kEmptySet;
  std::vector<ExprId> flat;
  ExprId bytes = neutral;  // all members that are kBytes, as one
  for (const ExprId part : parts) {
    const auto nested = nodes_[part].kind == kind ? children(part) : std::span(&part, 1);
    for (const ExprId e : std::vector(nested.begin(), nested.end())) {
      if (nodes_[e].kind != ExprKind::kBytes) {
        flat.push_back(e);
      } else {
        bytes = bytes == neutral ? e : MergeBytes(bytes, e, is_or);
      }
    }
  }
  if (bytes != neutral) flat.push_back(bytes);
  if (is_or) MergeRepeats(flat);
  if (!is_or) MeetCounters(*this, flat);
  JoinBehindHeads(flat, is_or);
  std::ranges::sort(flat);
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  std::erase(flat, neutral);
  if (std::ranges::binary_search(flat, absorbing)) return absorbing;
  if (flat.empty()) return neutral;
  if (flat.size() == 1) return flat[0];
  Node node{.kind = kind, .nullable = !is_or, .has_logic = !is_or};
  node.shortest = is_or ? kMany : std::uint16_t{0};
  node.longest = is_or ? std::uint16_t{0} : kMany;
  for (const ExprId e : flat) {
    const Node& n = nodes_[e];
    node.is_sure = node.is_sure || (is_or && n.is_sure);
    node.shortest =
        is_or ? std::min(node.shortest, n.shortest) : std::max(node.shortest, n.shortest);
    node.longest = is_or ? std::max(node.longest, n.longest) : std::min(node.longest, n.longest);
    node.nullable = is_or ? node.nullable || n.nullable : node.nullable && n.nullable;
    node.has_logic = node.has_logic || n.has_logic;
    node.has_counter = node.has_counter || n.has_counter;
    node.depth = std::max(node.depth, n.depth);
    if (n.kind == ExprKind::kNot && std::ranges::binary_search(flat, n.a)) return absorbing;
    if (!is_or && e == kEmptyText) {
      return std::ranges::all_of(flat, [this](ExprId m) { return nodes_[m].nullable; }) ? kEmptyText
                                                                                        : kEmptySet;
    }
  }
  if (!is_or && node.shortest > node.longest) return kEmptySet;
  node.is_sure = node.is_sure || node.nullable;
  ++node.depth;
  return Intern(node, flat, {});
}

// Of the same thing counted from different points on, one counter: {2,5} or {3,9} is {2,9}.
void ExprPool::MergeRepeats(std::vector<ExprId>& choices) {
  struct Counted {
    ExprId item, rest, whole;
    std::uint32_t min, max;
  };
  std::vector<Counted> counted;
  for (const ExprId e : choices) {
    const bool is_concat = nodes_[e].kind == ExprKind::kConcat;
    const ExprId head = is_concat ? nodes_[e].a : e;
    if (nodes_[head].kind != ExprKind::kRepeat) continue;
    const Node& n = nodes_[head];
    counted.push_back({n.a, is_concat ? nodes_[e].b : kEmptyText, e, n.min, n.max});
  }
  if (counted.size() < 2) return;
  std::ranges::sort(counted, [](const Counted& x, const Counted& y) {
    return std::tie(x.item, x.rest, x.min, x.max) < std::tie(y.item, y.rest, y.min, y.max);
  });
  for (std::size_t i = 0; i + 1 < counted.size();) {
    Counted run = counted[i];
    std::size_t j = i + 1;
    for (; j < counted.size(); ++j) {
      const Counted& next = counted[j];
      if (next.item != run.item || next.rest != run.rest) break;
      if (run.max != kUnbounded && next.min > run.max + 1) break;
      run.max = std::max(run.max, next.max);
    }
    if (j > i + 1) {
      const auto in_run = [&](ExprId e) {
        return std::any_of(counted.begin() + static_cast<std::ptrdiff_t>(i),
                           counted.begin() + static_cast<std::ptrdiff_t>(j),
                           [e](const Counted& c) { return c.whole == e; });
      };
      std::erase_if(choices, in_run);
      choices.push_back(Concat(Repeat(run.item, run.min, run.max), run.rest));
    }
    i = j;
  }
}

// What begins with the same character does so once, so that the texts of an enum become a tree.
void ExprPool::JoinBehindHeads(std::vector<ExprId>& parts, bool is_or) {
  const auto is_headed = [this](ExprId e) {
    const Node& n = nodes_[e];
    return n.kind == ExprKind::kConcat && nodes_[n.a].kind == ExprKind::kBytes;
  };
  if (parts.size() < 2 || join_depth_ >= kMaxJoinDepth) return;
  std::vector<ExprId> headed;
  std::ranges::copy_if(parts, std::back_inserter(headed), is_headed);
  if (headed.size() < 2) return;
  std::ranges::stable_sort(headed, {}, [this](ExprId e) { return nodes_[e].a; });
  std::erase_if(parts, is_headed);
  ++join_depth_;
  for (std::size_t i = 0; i < headed.size();) {
    const ExprId head = nodes_[headed[i]].a;
    std::vector<ExprId> rests;
    const std::size_t first = i;
    for (; i < headed.size() && nodes_[headed[i]].a == head; ++i) {
      rests.push_back(nodes_[headed[i]].b);
    }
    parts.push_back(i == first + 1 ? headed[first] : Concat(head, Join(std::move(rests), is_or)));
  }
  --join_depth_;
}

// The union or intersection of two kBytes: piece by piece between the borders of their ranges.
ExprId ExprPool::MergeBytes(ExprId a, ExprId b, bool is_or) {
  const std::vector<Edge> x(edges(a).begin(), edges(a).end());
  const std::vector<Edge> y(edges(b).begin(), edges(b).end());
  std::vector<Edge> out;
  std::size_t i = 0, j = 0;
  unsigned at = 0;
  while (at < 256 && (i < x.size() || j < y.size())) {
    const bool in_x = i < x.size() && x[i].first <= at;
    const bool in_y = j < y.size() && y[j].first <= at;
    unsigned end = 256;
    if (i < x.size()) end = std::min<unsigned>(end, in_x ? x[i].last + 1u : x[i].first);
    if (j < y.size()) end = std::min<unsigned>(end, in_y ? y[j].last + 1u : y[j].first);
    ExprId target = kEmptySet;
    if (in_x && in_y) {
      target = Join({x[i].target, y[j].target}, is_or);
    } else if (is_or && (in_x || in_y)) {
      target = in_x ? x[i].target : y[j].target;
    }
    out.push_back({static_cast<std::uint8_t>(at), static_cast<std::uint8_t>(end - 1), target});
    if (in_x && x[i].last + 1u == end) ++i;
    if (in_y && y[j].last + 1u == end) ++j;
    at = end;
  }
  return Bytes(std::move(out));
}

ExprId ExprPool::Not(ExprId e) {
  if (nodes_[e].kind == ExprKind::kNot) return nodes_[e].a;
  const Node inner = nodes_[e];
  return Intern({.kind = ExprKind::kNot,
                 .nullable = !inner.nullable,
                 .has_logic = true,
                 .has_counter = inner.has_counter,
                 .is_sure = !inner.nullable || inner.longest != kMany,
                 .depth = static_cast<std::uint16_t>(inner.depth + 1),
                 .shortest = static_cast<std::uint16_t>(inner.nullable ? 1 : 0),
                 .longest = kMany,
                 .a = e},
                {}, {});
}

ExprId ExprPool::Repeat(ExprId e, std::uint32_t min, std::uint32_t max) {
  if (min > max) return kEmptySet;
  if (max == 0 || e == kEmptyText) return kEmptyText;
  if (e == kEmptySet) return min == 0 ? kEmptyText : kEmptySet;
  if (e == kAnyBytes) return kAnyBytes;
  const Node inner = nodes_[e];
  if (inner.nullable) min = 0;
  if (min == 1 && max == 1) return e;
  if (inner.kind == ExprKind::kRepeat && inner.min <= 1 && max != 0) {
    // (a{0,m}){.,n} is a{0,mn}, (a{1,m}){k,n} is a{k,mn}: no sum of counts is left out.
    return Repeat(inner.a, inner.min == 0 ? 0 : min, TimesOrMore(inner.max, max));
  }
  return Intern({.kind = ExprKind::kRepeat,
                 .nullable = min == 0,
                 .has_logic = inner.has_logic,
                 .has_counter = inner.has_counter || min > 1 || max != kUnbounded,
                 .is_sure = min == 0 || inner.is_sure,
                 .depth = static_cast<std::uint16_t>(inner.depth + 1),
                 .shortest = Times(inner.shortest, min),
                 .longest = Times(inner.longest, max),
                 .a = e,
                 .b = 0,
                 .min = min,
                 .max = max},
                {}, {});
}

ExprId ExprPool::HostNames() {
  const auto separate = [this](unsigned char first, unsigned char last) {
    for (unsigned c = first; c <= last + 1u; ++c) boundaries_[c] = true;
  };
  separate('-', '.');
  separate('0', '9');
  separate('a', 'z');
  boundaries_['A'] = boundaries_['Z' + 1] = true;
  return Host({});
}

ExprId ExprPool::Host(const HostName& name) {
  const HostName::Packed packed = name.Pack();
  const std::size_t shortest = name.shortest();
  return Intern({.kind = ExprKind::kHost,
                 .nullable = shortest == 0,
                 .has_counter = true,
                 .is_sure = true,
                 .depth = 1,
                 .shortest = static_cast<std::uint16_t>(shortest),
                 .longest = static_cast<std::uint16_t>(name.n_left()),
                 .min = packed.head[0],
                 .max = packed.head[1]},
                packed.text, {});
}

HostName ExprPool::HostOf(ExprId e) const {
  const Node& n = nodes_[e];
  return HostName::Unpack({{n.min, n.max}, {children(e).begin(), children(e).end()}});
}

std::size_t ExprPool::FreeInHost(ExprId e) const {
  const Node& n = nodes_[e];
  if (n.kind != ExprKind::kConcat || nodes_[n.a].kind != ExprKind::kHost) return 0;
  return nodes_[n.b].nullable ? 0 : HostOf(n.a).n_free();
}

std::string ExprPool::Key(ExprId root, std::size_t max_size) const {
  std::string key;
  std::vector<ExprId> todo{root};
  const auto number = [&key](std::uint32_t v) {
    key.append(reinterpret_cast<const char*>(&v), sizeof v);
  };
  // Ids of other pools differ, and so does the order of members: the text is of this order, and two
  // orders of the same members cost one more computed mask, nothing else.
  while (!todo.empty()) {
    const ExprId e = todo.back();
    todo.pop_back();
    const Node& n = nodes_[e];
    key.push_back(static_cast<char>('A' + static_cast<int>(n.kind)));
    switch (n.kind) {
      case ExprKind::kBytes:
        number(n.b);
        for (const Edge& out : edges(e)) {
          key.push_back(static_cast<char>(out.first));
          key.push_back(static_cast<char>(out.last));
          todo.push_back(out.target);
        }
        break;
      case ExprKind::kConcat:
        todo.push_back(n.b);
        todo.push_back(n.a);
        break;
      case ExprKind::kOr:
      case ExprKind::kAnd:
        number(n.b);
        for (const ExprId c : children(e)) todo.push_back(c);
        break;
      case ExprKind::kNot:
        todo.push_back(n.a);
        break;
      case ExprKind::kHost:
        number(n.min);
        number(n.max);
        number(n.b);
        for (const std::uint32_t word : children(e)) number(word);
        break;
      case ExprKind::kRepeat:
        number(n.min);
        number(n.max);
        todo.push_back(n.a);
        break;
      default:
        break;
    }
    if (key.size() + todo.size() > max_size) return {};
  }
  return key;
}

}  // namespace lattice::grammar
