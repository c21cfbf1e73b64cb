#include <utf8proc.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "chat/jinja/characters.h"
#include "chat/jinja/string_methods.h"

namespace lattice::chat::jinja {
namespace {

char32_t Mapped(utf8proc_int32_t (*map)(utf8proc_int32_t), char32_t c) {
  return static_cast<char32_t>(map(static_cast<utf8proc_int32_t>(c)));
}

// One code point to another; the sharp s, which becomes two, is the only exception made here.
void AppendUpper(char32_t c, std::string& out) {
  if (c == 0xDF) {
    out += "SS";
  } else {
    AppendUtf8(Mapped(utf8proc_toupper, c), out);
  }
}

void AppendTitle(char32_t c, std::string& out) {
  if (c == 0xDF) {
    out += "Ss";
  } else {
    AppendUtf8(Mapped(utf8proc_totitle, c), out);
  }
}

void AppendLower(char32_t c, std::string& out) { AppendUtf8(Mapped(utf8proc_tolower, c), out); }

bool IsCased(char32_t c) {
  return IsUpper(c) || IsLower(c) || Mapped(utf8proc_tolower, c) != c ||
         Mapped(utf8proc_toupper, c) != c;
}

// Maps every character; `map` also learns whether the one before is cased.
template <typename Map>
Result<Value> MapCharacters(Runtime& runtime, const Text& self, const Map& map) {
  LATTICE_TRY_VOID(runtime.Step(self.size() / 16));
  TextBuilder out = runtime.NewText();
  bool after_cased = false;
  std::string mapped;
  for (std::size_t at = 0; at < self.size();) {
    const Utf8Step step = DecodeUtf8(self.view().substr(at));
    mapped.clear();
    map(step.scalar, at == 0, after_cased, mapped);
    out.Append(mapped, self.IsUser(at) ? Origin::kUser : Origin::kTemplate);
    after_cased = IsCased(step.scalar);
    at += step.n_bytes;
  }
  LATTICE_TRY(const Text text, runtime.Finish(std::move(out)));
  return Value(text.AsMarkup(self.is_markup()));
}

Result<Value> Lower(Runtime& runtime, const Text& self, const Arguments& arguments) {
  LATTICE_TRY_VOID(Bind("lower", arguments, {}));
  return MapCharacters(runtime, self,
                       [](char32_t c, bool, bool, std::string& out) { AppendLower(c, out); });
}

Result<Value> Upper(Runtime& runtime, const Text& self, const Arguments& arguments) {
  LATTICE_TRY_VOID(Bind("upper", arguments, {}));
  return MapCharacters(runtime, self,
                       [](char32_t c, bool, bool, std::string& out) { AppendUpper(c, out); });
}

Result<Value> Title(Runtime& runtime, const Text& self, const Arguments& arguments) {
  LATTICE_TRY_VOID(Bind("title", arguments, {}));
  return MapCharacters(runtime, self, [](char32_t c, bool, bool after_cased, std::string& out) {
    after_cased ? AppendLower(c, out) : AppendTitle(c, out);
  });
}

Result<Value> Capitalize(Runtime& runtime, const Text& self, const Arguments& arguments) {
  LATTICE_TRY_VOID(Bind("capitalize", arguments, {}));
  return MapCharacters(runtime, self, [](char32_t c, bool first, bool, std::string& out) {
    first ? AppendTitle(c, out) : AppendLower(c, out);
  });
}

Result<Value> SwapCase(Runtime& runtime, const Text& self, const Arguments& arguments) {
  LATTICE_TRY_VOID(Bind("swapcase", arguments, {}));
  return MapCharacters(runtime, self, [](char32_t c, bool, bool, std::string& out) {
    IsUpper(c) ? AppendLower(c, out) : AppendUpper(c, out);
  });
}

// Python's is...() for whole strings: not empty, and all characters are of the kind.
template <typename Test>
Result<Value> All(Runtime& runtime, const Text& self, const Arguments& arguments,
                  const Test& test) {
  LATTICE_TRY_VOID(Bind("the test of a string", arguments, {}));
  LATTICE_TRY_VOID(runtime.Step(self.size() / 16));
  for (std::size_t at = 0; at < self.size();) {
    const Utf8Step step = DecodeUtf8(self.view().substr(at));
    if (!test(step.scalar)) return Value(false);
    at += step.n_bytes;
  }
  return Value(!self.empty());
}

Result<Value> IsAlnum(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return All(runtime, self, arguments, [](char32_t c) { return IsLetter(c) || IsNumeric(c); });
}
Result<Value> IsAlpha(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return All(runtime, self, arguments, [](char32_t c) { return IsLetter(c); });
}
Result<Value> IsDecimalText(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return All(runtime, self, arguments, [](char32_t c) { return IsDecimal(c); });
}
Result<Value> IsNumericText(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return All(runtime, self, arguments, [](char32_t c) { return IsNumeric(c); });
}
Result<Value> IsSpace(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return All(runtime, self, arguments, [](char32_t c) { return IsPythonSpace(c); });
}
Result<Value> IsAscii(Runtime&, const Text& self, const Arguments& arguments) {
  LATTICE_TRY_VOID(Bind("isascii", arguments, {}));
  return Value(self.is_ascii());
}

// All cased characters are of one case, and there is one.
Result<Value> IsCase(Runtime& runtime, const Text& self, const Arguments& arguments, bool upper) {
  LATTICE_TRY_VOID(Bind("the test of a string", arguments, {}));
  LATTICE_TRY_VOID(runtime.Step(self.size() / 16));
  bool seen = false;
  for (std::size_t at = 0; at < self.size();) {
    const Utf8Step step = DecodeUtf8(self.view().substr(at));
    if (upper ? IsLower(step.scalar) : IsUpper(step.scalar)) return Value(false);
    seen = seen || (upper ? IsUpper(step.scalar) : IsLower(step.scalar));
    at += step.n_bytes;
  }
  return Value(seen);
}
Result<Value> IsUpperText(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return IsCase(runtime, self, arguments, /*upper=*/true);
}
Result<Value> IsLowerText(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return IsCase(runtime, self, arguments, /*upper=*/false);
}

constexpr std::pair<std::string_view, StringMethod> kMethods[] = {
    {"capitalize", Capitalize},
    {"isalnum", IsAlnum},
    {"isalpha", IsAlpha},
    {"isascii", IsAscii},
    {"isdecimal", IsDecimalText},
    {"isdigit", IsDecimalText},
    {"islower", IsLowerText},
    {"isnumeric", IsNumericText},
    {"isspace", IsSpace},
    {"isupper", IsUpperText},
    {"lower", Lower},
    {"swapcase", SwapCase},
    {"title", Title},
    {"upper", Upper},
};

}  // namespace

StringMethod FindCaseMethod(std::string_view name) {
  for (const auto& [known, method] : kMethods) {
    if (known == name) return method;
  }
  return nullptr;
}

}  // namespace lattice::chat::jinja
