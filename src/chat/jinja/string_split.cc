#include <algorithm>
#include <array>
#include <utility>

#include "base/utf8.h"
#include "chat/jinja/characters.h"
#include "chat/jinja/escape.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/search.h"
#include "chat/jinja/string_methods.h"

namespace lattice::chat::jinja {
namespace {

// A count that may be negative for "no limit".
std::size_t Limit(Int count) {
  return count < 0 ? SIZE_MAX : static_cast<std::size_t>(std::min<Int>(count, Int{SIZE_MAX}));
}

Result<Value> SplitAtSeparator(Runtime& runtime, const Text& text, const Text& separator,
                               std::size_t limit) {
  if (separator.empty()) return Fault("empty separator");
  std::vector<Value> parts;
  std::size_t begin = 0;
  while (parts.size() < limit) {
    const std::size_t found = FindBytes(text.view(), separator.view(), begin);
    if (found == kNotFound) break;
    LATTICE_TRY_VOID(runtime.CheckItems(parts.size() + 2));
    LATTICE_TRY(Value part, Piece(runtime, text, begin, found));
    parts.push_back(std::move(part));
    begin = found + separator.size();
  }
  LATTICE_TRY(Value rest, Piece(runtime, text, begin, text.size()));
  parts.push_back(std::move(rest));
  return runtime.MakeList(std::move(parts));
}

// Every match of `separator` that splitting from the right would use, last first.
Result<Value> SplitFromRight(Runtime& runtime, const Text& text, const Text& separator,
                             std::size_t limit) {
  if (separator.empty()) return Fault("empty separator");
  const std::string_view bytes = text.view(), needle = separator.view();
  const std::string reversed(bytes.rbegin(), bytes.rend());
  const std::string reversed_needle(needle.rbegin(), needle.rend());
  std::vector<Value> parts;
  std::size_t end = bytes.size();
  while (parts.size() < limit) {
    const std::size_t found = FindBytes(reversed, reversed_needle, bytes.size() - end);
    if (found == kNotFound) break;
    LATTICE_TRY_VOID(runtime.CheckItems(parts.size() + 2));
    const std::size_t begin = bytes.size() - found;  // behind the separator
    LATTICE_TRY(Value part, Piece(runtime, text, begin, end));
    parts.push_back(std::move(part));
    end = begin - needle.size();
  }
  LATTICE_TRY(Value rest, Piece(runtime, text, 0, end));
  parts.push_back(std::move(rest));
  std::reverse(parts.begin(), parts.end());
  return runtime.MakeList(std::move(parts));
}

// Words between runs of whitespace.
std::vector<ByteRange> Words(std::string_view text) {
  std::vector<ByteRange> words;
  std::size_t at = 0;
  while (true) {
    at = text.size() - StripLeft(text.substr(at)).size();
    if (at == text.size()) return words;
    std::size_t end = at;
    while (end < text.size()) {
      const Utf8Step step = DecodeUtf8(text.substr(end));
      if (IsPythonSpace(step.scalar)) break;
      end += step.n_bytes;
    }
    words.push_back({at, end});
    at = end;
  }
}

Result<Value> SplitAtSpace(Runtime& runtime, const Text& text, std::size_t limit, bool from_right) {
  LATTICE_TRY_VOID(runtime.Step(text.size() / 16));
  std::vector<ByteRange> words = Words(text.view());
  if (words.size() > limit) {  // What is beyond the limit stays whole, without outer space.
    const std::size_t n_joined = words.size() - limit;
    if (from_right) {
      words[n_joined - 1].begin = words[0].begin;
      words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(n_joined - 1));
      words[0].begin = 0;
    } else {
      words.resize(limit + 1);
      words.back().end = text.size();
    }
  }
  LATTICE_TRY_VOID(runtime.CheckItems(words.size()));
  std::vector<Value> parts;
  parts.reserve(words.size());
  for (const ByteRange word : words) {
    LATTICE_TRY(Value part, Piece(runtime, text, word.begin, word.end));
    parts.push_back(std::move(part));
  }
  return runtime.MakeList(std::move(parts));
}

Result<Value> SplitEither(Runtime& runtime, const Text& self, const Arguments& arguments,
                          bool from_right) {
  LATTICE_TRY(const Bound bound, Bind("split", arguments, {"sep", "maxsplit"}));
  LATTICE_TRY(const Int limit, bound.IntOr(1, -1));
  if (bound[0] == nullptr || bound[0]->IsNone()) {
    return SplitAtSpace(runtime, self, Limit(limit), from_right);
  }
  LATTICE_TRY(const Text separator, bound.TextOr(0, ""));
  return from_right ? SplitFromRight(runtime, self, separator, Limit(limit))
                    : SplitAtSeparator(runtime, self, separator, Limit(limit));
}

Result<Value> Split(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return SplitEither(runtime, self, arguments, /*from_right=*/false);
}

Result<Value> RSplit(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return SplitEither(runtime, self, arguments, /*from_right=*/true);
}

bool IsLineEnd(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

Result<Value> SplitLines(Runtime& runtime, const Text& self, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("splitlines", arguments, {"keepends"}));
  LATTICE_TRY(const bool keep, bound.BoolOr(0, false));
  LATTICE_TRY_VOID(runtime.Step(self.size() / 16));
  const std::string_view bytes = self.view();
  std::vector<Value> lines;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const Utf8Step step = DecodeUtf8(bytes.substr(at));
    std::size_t end = at + step.n_bytes;
    if (IsLineEnd(step.scalar)) {
      if (step.scalar == '\r' && end < bytes.size() && bytes[end] == '\n') ++end;
      LATTICE_TRY_VOID(runtime.CheckItems(lines.size() + 1));
      LATTICE_TRY(Value line, Piece(runtime, self, begin, keep ? end : at));
      lines.push_back(std::move(line));
      begin = end;
    }
    at = end;
  }
  if (begin < bytes.size()) {
    LATTICE_TRY(Value line, Piece(runtime, self, begin, bytes.size()));
    lines.push_back(std::move(line));
  }
  return runtime.MakeList(std::move(lines));
}

Result<Value> StripEither(Runtime& runtime, const Text& self, const Arguments& arguments,
                          Side side) {
  LATTICE_TRY(const Bound bound, Bind("strip", arguments, {"chars"}));
  if (bound[0] == nullptr || bound[0]->IsNone()) return StripText(runtime, self, nullptr, side);
  LATTICE_TRY(const Text characters, bound.TextOr(0, ""));
  return StripText(runtime, self, &characters, side);
}

Result<Value> Strip(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return StripEither(runtime, self, arguments, Side::kBoth);
}
Result<Value> LStrip(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return StripEither(runtime, self, arguments, Side::kLeft);
}
Result<Value> RStrip(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return StripEither(runtime, self, arguments, Side::kRight);
}

Result<Value> Join(Runtime& runtime, const Text& self, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("join", arguments, {"iterable"}, 1));
  LATTICE_TRY(const std::vector<Value> items, Iterate(runtime, *bound[0]));
  return JoinText(runtime, self, items);
}

Result<Value> Replace(Runtime& runtime, const Text& self, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("replace", arguments, {"old", "new", "count"}, 2));
  LATTICE_TRY(const Text from, bound.TextOr(0, ""));
  LATTICE_TRY(const Text to, bound.TextOr(1, ""));
  LATTICE_TRY(const Int count, bound.IntOr(2, -1));
  return ReplaceText(runtime, self, from, to, count);
}

// (before, separator, after) around the match at `found`; without one the whole goes to one end.
Result<Value> Parts(Runtime& runtime, const Text& self, const Text& separator, std::size_t found,
                    bool whole_first) {
  std::array<Value, 3> parts = {Text(), Text(), Text()};
  if (found == kNotFound) {
    parts[whole_first ? 0 : 2] = self;
  } else {
    LATTICE_TRY(parts[0], Piece(runtime, self, 0, found));
    LATTICE_TRY(parts[1], Piece(runtime, self, found, found + separator.size()));
    LATTICE_TRY(parts[2], Piece(runtime, self, found + separator.size(), self.size()));
  }
  return runtime.MakeList({parts.begin(), parts.end()}, List::Kind::kTuple);
}

Result<Value> Partition(Runtime& runtime, const Text& self, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("partition", arguments, {"sep"}, 1));
  LATTICE_TRY(const Text separator, bound.TextOr(0, ""));
  if (separator.empty()) return Fault("empty separator");
  LATTICE_TRY_VOID(runtime.Step(self.size() / 32));
  return Parts(runtime, self, separator, FindBytes(self.view(), separator.view(), 0), true);
}

Result<Value> RPartition(Runtime& runtime, const Text& self, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("rpartition", arguments, {"sep"}, 1));
  LATTICE_TRY(const Text separator, bound.TextOr(0, ""));
  if (separator.empty()) return Fault("empty separator");
  LATTICE_TRY_VOID(runtime.Step(self.size() / 32));
  return Parts(runtime, self, separator, FindLastBytes(self.view(), separator.view(), self.size()),
               false);
}

Result<Value> RemovePrefix(Runtime& runtime, const Text& self, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("removeprefix", arguments, {"prefix"}, 1));
  LATTICE_TRY(const Text prefix, bound.TextOr(0, ""));
  LATTICE_TRY_VOID(runtime.Step(prefix.size() / 64));
  if (!self.view().starts_with(prefix.view())) return Value(self);
  return Piece(runtime, self, prefix.size(), self.size());
}

Result<Value> RemoveSuffix(Runtime& runtime, const Text& self, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("removesuffix", arguments, {"suffix"}, 1));
  LATTICE_TRY(const Text suffix, bound.TextOr(0, ""));
  LATTICE_TRY_VOID(runtime.Step(suffix.size() / 64));
  if (!self.view().ends_with(suffix.view())) return Value(self);
  return Piece(runtime, self, 0, self.size() - suffix.size());
}

constexpr std::pair<std::string_view, StringMethod> kMethods[] = {
    {"join", Join},
    {"lstrip", LStrip},
    {"partition", Partition},
    {"removeprefix", RemovePrefix},
    {"removesuffix", RemoveSuffix},
    {"replace", Replace},
    {"rpartition", RPartition},
    {"rsplit", RSplit},
    {"rstrip", RStrip},
    {"split", Split},
    {"splitlines", SplitLines},
    {"strip", Strip},
};

}  // namespace

Result<Value> Piece(Runtime& runtime, const Text& text, std::size_t begin, std::size_t end) {
  TextBuilder out = runtime.NewText();
  out.Append(text, begin, end);
  LATTICE_TRY(const Text piece, runtime.Finish(std::move(out)));
  return Value(piece.AsMarkup(text.is_markup()));
}

Result<Value> ReplaceText(Runtime& runtime, const Text& text, const Text& from, const Text& to,
                          Int count) {
  const std::size_t limit = Limit(count);
  TextBuilder out = runtime.NewText();
  std::size_t copied = 0, at = 0;
  LATTICE_TRY_VOID(runtime.Step(text.size() / 64));
  for (std::size_t n = 0; n < limit && !out.full(); ++n) {
    const std::size_t found = FindBytes(text.view(), from.view(), at);
    if (found == kNotFound) break;
    LATTICE_TRY_VOID(runtime.Step());
    out.Append(text, copied, found);
    out.Append(to);
    copied = found + from.size();
    at = copied;
    if (from.empty()) {  // between all characters, and at both ends
      if (found == text.size()) break;
      at = found + DecodeUtf8(text.view().substr(found)).n_bytes;
    }
  }
  out.Append(text, copied, text.size());
  LATTICE_TRY(const Text replaced, runtime.Finish(std::move(out)));
  return Value(replaced.AsMarkup(text.is_markup()));
}

Result<Value> StripText(Runtime& runtime, const Text& text, const Text* characters, Side side) {
  const std::string_view bytes = text.view();
  const auto strips = [&](std::string_view character) {
    return characters == nullptr ? IsPythonSpace(DecodeUtf8(character).scalar)
                                 : characters->view().find(character) != std::string_view::npos;
  };
  LATTICE_TRY_VOID(runtime.Step(
      characters == nullptr ? bytes.size() / 64 : bytes.size() / 64 * (1 + characters->size())));
  std::size_t begin = 0, end = bytes.size();
  while (side != Side::kRight && begin < end) {
    const std::size_t n_bytes = DecodeUtf8(bytes.substr(begin)).n_bytes;
    if (!strips(bytes.substr(begin, n_bytes))) break;
    begin += n_bytes;
  }
  while (side != Side::kLeft && end > begin) {
    std::size_t last = end - 1;
    while (last > begin && (static_cast<unsigned char>(bytes[last]) & 0xC0) == 0x80) --last;
    if (!strips(bytes.substr(last, end - last))) break;
    end = last;
  }
  return Piece(runtime, text, begin, end);
}

Result<Value> JoinText(Runtime& runtime, const Text& separator, const std::vector<Value>& items) {
  TextBuilder out = runtime.NewText();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Text* item = items[i].text();
    if (item == nullptr) {
      return Fault("sequence item " + std::to_string(i) + ": expected str instance, " +
                   std::string(TypeName(items[i])) + " found");
    }
    if (i > 0) out.Append(separator);
    if (separator.is_markup() && !item->is_markup()) {
      AppendEscaped(*item, out);
    } else {
      out.Append(*item);
    }
  }
  LATTICE_TRY(const Text joined, runtime.Finish(std::move(out)));
  return Value(joined.AsMarkup(separator.is_markup()));
}

StringMethod FindSplitMethod(std::string_view name) {
  for (const auto& [known, method] : kMethods) {
    if (known == name) return method;
  }
  return nullptr;
}

}  // namespace lattice::chat::jinja
