#include "grammar/utf8_ranges.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

namespace lattice::grammar {
namespace {

using Edge = ExprPool::Edge;
using Range = CharSet::Range;

class Utf8Graph {
 public:
  explicit Utf8Graph(FunctionRef<ExprId(std::vector<Edge>)> make) : make_(make) {
    whole_[0] = kEmptyText;
    for (std::size_t n = 1; n < whole_.size(); ++n) {
      whole_[n] = make_({{0x80, 0xBF, whole_[n - 1]}});
    }
  }

  // Edges of the bytes lead, lead + 1, ... (n_leads of them) that begin the values in `ranges`
  // (rising, apart, below n_leads * 64^n_after); n_after bytes follow.
  void AddEdges(std::span<const Range> ranges, std::size_t n_after, unsigned lead, unsigned n_leads,
                std::vector<Edge>& edges) {
    const char32_t block = char32_t{1} << (6 * n_after);
    std::vector<Range> inside;
    std::size_t at = 0;
    for (unsigned top = 0; top < n_leads && at < ranges.size(); ++top) {
      const char32_t first = top * block;
      const char32_t last = first + block - 1;
      inside.clear();
      for (std::size_t i = at; i < ranges.size() && ranges[i].first <= last; ++i) {
        inside.push_back(
            {std::max(ranges[i].first, first) - first, std::min(ranges[i].last, last) - first});
      }
      while (at < ranges.size() && ranges[at].last <= last) ++at;
      if (inside.empty()) continue;
      const auto byte = static_cast<std::uint8_t>(lead + top);
      edges.push_back({byte, byte, After(inside, n_after)});
    }
  }

 private:
  ExprId After(std::span<const Range> ranges, std::size_t n_after) {
    const char32_t block = char32_t{1} << (6 * n_after);
    if (ranges.size() == 1 && ranges[0].first == 0 && ranges[0].last == block - 1) {
      return whole_[n_after];
    }
    std::vector<Edge> edges;
    AddEdges(ranges, n_after - 1, 0x80, 64, edges);
    return make_(std::move(edges));
  }

  FunctionRef<ExprId(std::vector<Edge>)> make_;
  std::array<ExprId, 4> whole_{};
};

}  // namespace

ExprId BytesOfChars(const CharSet& set, FunctionRef<ExprId(std::vector<Edge>)> make) {
  struct Form {
    char32_t first, last;
    std::size_t n_after;
    unsigned lead, n_leads;
  };
  constexpr Form kForms[] = {{0x0, 0x7F, 0, 0, 0x80},
                             {0x80, 0x7FF, 1, 0xC0, 0x20},
                             {0x800, 0xFFFF, 2, 0xE0, 0x10},
                             {0x10000, 0x10FFFF, 3, 0xF0, 5}};
  std::vector<Edge> edges;
  Utf8Graph graph(make);
  for (const Form& form : kForms) {
    const CharSet part = set.Intersect(CharSet::OfRange(form.first, form.last));
    graph.AddEdges(part.ranges(), form.n_after, form.lead, form.n_leads, edges);
  }
  return make(std::move(edges));
}

}  // namespace lattice::grammar
