#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "chat/jinja/format.h"
#include "chat/jinja/search.h"
#include "chat/jinja/string_methods.h"

namespace lattice::chat::jinja {
namespace {

struct SearchArguments {
  Text needle;
  std::size_t begin = 0, end = 0;  // bytes
  bool possible = true;            // false: the range is beyond the end, nothing is found
};

// (sub, start, end) with Python's reading of negative and missing bounds.
Result<SearchArguments> ReadSearch(Runtime& runtime, const Text& self, const Text& needle,
                                   const Bound& bound) {
  SearchArguments search;
  search.needle = needle;
  LATTICE_TRY_VOID(runtime.Step(1 + (self.size() + needle.size()) / 32));
  const Int n = static_cast<Int>(self.n_chars());
  const auto read = [&](std::size_t i, Int fallback) -> Result<Int> {
    if (bound[i] == nullptr || bound[i]->IsNone()) return fallback;
    LATTICE_TRY(const Int at, bound.IntOr(i, fallback));
    return at < 0 ? std::max<Int>(0, at < -n ? 0 : at + n) : at;
  };
  LATTICE_TRY(const Int begin, read(1, 0));
  LATTICE_TRY(const Int end, read(2, n));
  search.possible = begin <= n && begin <= end;
  search.begin = self.ByteOfChar(static_cast<std::size_t>(std::min(begin, n)));
  search.end = self.ByteOfChar(static_cast<std::size_t>(std::min(end, n)));
  return search;
}

Result<Value> FindEither(Runtime& runtime, const Text& self, const Arguments& arguments, bool last,
                         bool must_exist) {
  LATTICE_TRY(const Bound bound, Bind("find", arguments, {"sub", "start", "end"}, 1));
  LATTICE_TRY(const Text needle, bound.TextOr(0, ""));
  LATTICE_TRY(const SearchArguments search, ReadSearch(runtime, self, needle, bound));
  std::size_t found = kNotFound;
  if (search.possible) {
    const std::string_view range = self.view().substr(search.begin, search.end - search.begin);
    found = last ? FindLastBytes(range, search.needle.view(), range.size())
                 : FindBytes(range, search.needle.view(), 0);
  }
  if (found == kNotFound && must_exist) return Fault("substring not found");
  if (found == kNotFound) return Value(Int{-1});
  return Value(static_cast<Int>(self.CharOfByte(search.begin + found)));
}

Result<Value> Find(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return FindEither(runtime, self, arguments, false, false);
}
Result<Value> RFind(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return FindEither(runtime, self, arguments, true, false);
}
Result<Value> Index(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return FindEither(runtime, self, arguments, false, true);
}
Result<Value> RIndex(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return FindEither(runtime, self, arguments, true, true);
}

Result<Value> Count(Runtime& runtime, const Text& self, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("count", arguments, {"sub", "start", "end"}, 1));
  LATTICE_TRY(const Text needle, bound.TextOr(0, ""));
  LATTICE_TRY(const SearchArguments search, ReadSearch(runtime, self, needle, bound));
  if (!search.possible) return Value(Int{0});
  const std::string_view range = self.view().substr(search.begin, search.end - search.begin);
  if (search.needle.empty()) {
    return Value(static_cast<Int>(self.CharOfByte(search.end) - self.CharOfByte(search.begin) + 1));
  }
  Int count = 0;
  for (std::size_t at = FindBytes(range, search.needle.view(), 0); at != kNotFound;
       at = FindBytes(range, search.needle.view(), at + search.needle.size())) {
    ++count;
  }
  return Value(count);
}

Result<bool> HasAffix(Runtime& runtime, const Text& self, const Value& affix, const Bound& bound,
                      bool at_end) {
  if (!affix.IsString()) {
    return Fault(std::string(at_end ? "endswith" : "startswith") +
                 " first arg must be str or a tuple of str, not " + std::string(TypeName(affix)));
  }
  LATTICE_TRY(const SearchArguments search, ReadSearch(runtime, self, *affix.text(), bound));
  if (!search.possible) return false;
  const std::string_view range = self.view().substr(search.begin, search.end - search.begin);
  return at_end ? range.ends_with(affix.text()->view()) : range.starts_with(affix.text()->view());
}

Result<Value> AffixEither(Runtime& runtime, const Text& self, const Arguments& arguments,
                          bool at_end) {
  LATTICE_TRY(const Bound bound,
              Bind(at_end ? "endswith" : "startswith", arguments, {"affix", "start", "end"}, 1));
  if (arguments.positional.empty()) return Fault("startswith and endswith take no names");
  const List* several = bound[0]->list();
  if (several == nullptr || several->kind != List::Kind::kTuple) {
    LATTICE_TRY(const bool has, HasAffix(runtime, self, *bound[0], bound, at_end));
    return Value(has);
  }
  for (const Value& affix : several->items) {  // strings: a tuple in a tuple is an error
    LATTICE_TRY(const bool has, HasAffix(runtime, self, affix, bound, at_end));
    if (has) return Value(true);
  }
  return Value(false);
}

Result<Value> StartsWith(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return AffixEither(runtime, self, arguments, /*at_end=*/false);
}
Result<Value> EndsWith(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return AffixEither(runtime, self, arguments, /*at_end=*/true);
}

Result<Value> Pad(Runtime& runtime, const Text& self, const Arguments& arguments, bool left,
                  bool right) {
  LATTICE_TRY(const Bound bound, Bind("padding", arguments, {"width", "fillchar"}, 1));
  LATTICE_TRY(const Int width, bound.IntOr(0, 0));
  LATTICE_TRY(const Text fill, bound.TextOr(1, " "));
  if (fill.n_chars() != 1) return Fault("the fill character must be exactly one character long");
  return PadText(runtime, self, width, fill, left, right);
}

Result<Value> Center(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return Pad(runtime, self, arguments, true, true);
}
Result<Value> LJust(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return Pad(runtime, self, arguments, false, true);
}
Result<Value> RJust(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return Pad(runtime, self, arguments, true, false);
}

Result<Value> ZFill(Runtime& runtime, const Text& self, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("zfill", arguments, {"width"}, 1));
  LATTICE_TRY(const Int width, bound.IntOr(0, 0));
  const bool has_sign = self.view().starts_with('-') || self.view().starts_with('+');
  if (!has_sign) return PadText(runtime, self, width, Text("0"), true, false);
  LATTICE_TRY(const Value digits, PadText(runtime, self.Sub(1, self.size()),
                                          std::max<Int>(width, 1) - 1, Text("0"), true, false));
  TextBuilder out = runtime.NewText();
  out.Append(self, 0, 1);
  out.Append(*digits.text());
  LATTICE_TRY(Text filled, runtime.Finish(std::move(out)));
  return Value(std::move(filled));
}

Result<Value> ExpandTabs(Runtime& runtime, const Text& self, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("expandtabs", arguments, {"tabsize"}));
  LATTICE_TRY(const Int tab_size, bound.IntOr(0, 8));
  TextBuilder out = runtime.NewText();
  Int column = 0;
  for (std::size_t at = 0; at < self.size() && !out.full();) {
    LATTICE_TRY_VOID(runtime.Step());
    const Utf8Step step = DecodeUtf8(self.view().substr(at));
    if (step.scalar == '\t') {
      const Int n = tab_size <= 0 ? 0 : tab_size - column % tab_size;
      out.Repeat(Text(" "), static_cast<std::size_t>(std::min<Int>(n, Int{1} << 40)));
      column += n;
    } else {
      out.Append(self, at, at + step.n_bytes);
      column = step.scalar == '\n' || step.scalar == '\r' ? 0 : column + 1;
    }
    at += step.n_bytes;
  }
  LATTICE_TRY(Text expanded, runtime.Finish(std::move(out)));
  return Value(std::move(expanded));
}

constexpr std::pair<std::string_view, StringMethod> kMethods[] = {
    {"center", Center}, {"count", Count},        {"endswith", EndsWith}, {"expandtabs", ExpandTabs},
    {"find", Find},     {"format", BraceFormat}, {"index", Index},       {"ljust", LJust},
    {"rfind", RFind},   {"rindex", RIndex},      {"rjust", RJust},       {"startswith", StartsWith},
    {"zfill", ZFill},
};

}  // namespace

Result<Value> PadText(Runtime& runtime, const Text& text, Int width, const Text& fill, bool left,
                      bool right) {
  const Int missing = std::max<Int>(width, 0) - static_cast<Int>(text.n_chars());
  if (missing <= 0) return Value(text);
  const auto n = static_cast<std::size_t>(std::min<Int>(missing, Int{1} << 40));
  // As CPython's str.center: the odd one goes left when the width is odd.
  std::size_t n_left = left ? n : 0;
  if (left && right) n_left = n / 2 + (n & static_cast<std::size_t>(width & 1));
  TextBuilder out = runtime.NewText();
  out.Repeat(fill, n_left);
  out.Append(text);
  out.Repeat(fill, n - n_left);
  LATTICE_TRY(Text padded, runtime.Finish(std::move(out)));
  return Value(std::move(padded));
}

StringMethod FindSearchMethod(std::string_view name) {
  for (const auto& [known, method] : kMethods) {
    if (known == name) return method;
  }
  return nullptr;
}

}  // namespace lattice::chat::jinja
