#include "tokenizers/pattern.h"

#include <string>
#include <utility>

#include "tokenizers/regex.h"

namespace lattice::tokenizers {
namespace {

class Literal : public Pattern {
 public:
  explicit Literal(std::string_view text) : text_(text) {}

  Status FindAll(std::string_view text, std::vector<Span>& out) const override {
    for (std::size_t at = text.find(text_); at != std::string_view::npos;
         at = text.find(text_, at + text_.size())) {
      out.push_back(
          {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + text_.size())});
    }
    return Ok();
  }

 private:
  std::string text_;
};

// The expression "x{n,}" for a plain character x.
class RunOf : public Pattern {
 public:
  RunOf(char c, std::size_t min) : c_(c), min_(min) {}

  // The pattern of `expression`, if it is of this form with n from 1 to 9.
  static std::unique_ptr<Pattern> For(std::string_view expression) {
    if (expression.size() != 5 || !expression.ends_with(",}") || expression[1] != '{') {
      return nullptr;
    }
    const char c = expression[0], digit = expression[2];
    const bool plain = c == ' ' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!plain || digit < '1' || digit > '9') return nullptr;
    return std::make_unique<RunOf>(c, static_cast<std::size_t>(digit - '0'));
  }

  Status FindAll(std::string_view text, std::vector<Span>& out) const override {
    for (std::size_t at = text.find(c_); at != std::string_view::npos; at = text.find(c_, at)) {
      const std::size_t begin = at;
      while (at < text.size() && text[at] == c_) ++at;
      if (at - begin < min_) continue;
      out.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(at)});
    }
    return Ok();
  }

 private:
  char c_;
  std::size_t min_;
};

class Expression : public Pattern {
 public:
  explicit Expression(Regex regex) : regex_(std::move(regex)) {}

  Status FindAll(std::string_view text, std::vector<Span>& out) const override {
    return regex_.FindAll(text, out);
  }

 private:
  Regex regex_;
};

struct Cut {
  Span span;
  bool is_match;
};

// The whole as a sequence of matches and of what lies between them.
std::vector<Cut> Alternate(Span whole, const std::vector<Span>& matches, bool invert) {
  std::vector<Cut> cuts;
  cuts.reserve(2 * matches.size() + 1);
  std::uint32_t at = whole.begin;
  for (const Span match : matches) {
    if (at != match.begin) cuts.push_back({{at, match.begin}, invert});
    cuts.push_back({match, !invert});
    at = match.end;
  }
  if (at != whole.end) cuts.push_back({{at, whole.end}, invert});
  return cuts;
}

}  // namespace

Result<std::unique_ptr<Pattern>> MakePattern(const JsonView& spec) {
  if (const auto literal = spec.Find("String")) {
    LATTICE_TRY(const std::string_view text, literal->String());
    if (!text.empty()) return std::unique_ptr<Pattern>(std::make_unique<Literal>(text));
    LATTICE_TRY(Regex nothing, Regex::Compile(""));  // It matches between any two characters.
    return std::unique_ptr<Pattern>(std::make_unique<Expression>(std::move(nothing)));
  }
  if (const auto expression = spec.Find("Regex")) {
    LATTICE_TRY(const std::string_view text, expression->String());
    if (auto run = RunOf::For(text)) return run;
    auto regex = Regex::Compile(text);
    if (!regex) return std::move(regex).error().Within(spec.where());
    return std::unique_ptr<Pattern>(std::make_unique<Expression>(std::move(regex).value()));
  }
  return spec.Complain("expected {\"String\": ...} or {\"Regex\": ...}");
}

Result<SplitBehavior> ParseSplitBehavior(const JsonView& spec) {
  LATTICE_TRY(const std::string_view name, spec.String());
  constexpr std::pair<std::string_view, SplitBehavior> kNames[] = {
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous}};
  for (const auto& [known, behavior] : kNames) {
    if (name == known) return behavior;
  }
  return Error{
      ErrorCode::kUnsupported,
      spec.where() + ": unknown behavior '" + std::string(name) +
          "'; known are Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous"};
}

void CutAtMatches(Span whole, const std::vector<Span>& matches, SplitBehavior behavior, bool invert,
                  std::vector<Span>& out) {
  const auto put = [&](Span span) {
    if (span.begin < span.end) out.push_back(span);
  };
  const std::vector<Cut> cuts = Alternate(whole, matches, invert);
  switch (behavior) {
    case SplitBehavior::kRemoved:
      for (const Cut& cut : cuts) {
        if (!cut.is_match) put(cut.span);
      }
      return;
    case SplitBehavior::kIsolated:
      for (const Cut& cut : cuts) put(cut.span);
      return;
    case SplitBehavior::kContiguous:
      for (std::size_t i = 0; i < cuts.size();) {
        std::size_t j = i + 1;
        while (j < cuts.size() && cuts[j].is_match == cuts[i].is_match) ++j;
        put({cuts[i].span.begin, cuts[j - 1].span.end});
        i = j;
      }
      return;
    case SplitBehavior::kMergedWithPrevious:
      // A match joins what precedes it unless that is a match too.
      for (std::size_t i = 0; i < cuts.size();) {
        const bool joins = !cuts[i].is_match && i + 1 < cuts.size() && cuts[i + 1].is_match;
        put({cuts[i].span.begin, cuts[joins ? i + 1 : i].span.end});
        i += joins ? 2 : 1;
      }
      return;
    case SplitBehavior::kMergedWithNext:
      for (std::size_t i = 0; i < cuts.size();) {
        const bool joins = cuts[i].is_match && i + 1 < cuts.size() && !cuts[i + 1].is_match;
        put({cuts[i].span.begin, cuts[joins ? i + 1 : i].span.end});
        i += joins ? 2 : 1;
      }
      return;
  }
}

}  // namespace lattice::tokenizers
