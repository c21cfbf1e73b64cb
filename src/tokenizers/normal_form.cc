#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/utf8.h"
#include "tokenizers/normalizer.h"
#include "tokenizers/unicode.h"

namespace lattice::tokenizers {
namespace {

// A code point of the new text in the notation of TextEdit::Put.
struct Change {
  char32_t c;
  int change;
  std::uint8_t combining_class;
};

// Appends the decomposition of `c`; marks after the last starter stay unsorted.
void AppendDecomposed(char32_t c, bool compatibility, std::vector<Change>& out) {
  char32_t parts[18];
  const int n = Decompose(c, compatibility, parts);
  for (int i = 0; i < n; ++i) out.push_back({parts[i], i == 0 ? 0 : 1, CombiningClass(parts[i])});
}

// Canonical order: each run of marks by combining class, equal classes in their order.
void SortMarks(std::vector<Change>& text) {
  for (auto begin = text.begin(); begin != text.end();) {
    if (begin->combining_class == 0) {
      ++begin;
      continue;
    }
    const auto end =
        std::find_if(begin, text.end(), [](const Change& c) { return c.combining_class == 0; });
    std::stable_sort(begin, end, [](const Change& a, const Change& b) {
      return a.combining_class < b.combining_class;
    });
    begin = end;
  }
}

// Canonical composition (UAX #15), in place. A composite takes away one code point, which its
// change records.
void ComposeAll(std::vector<Change>& text) {
  std::size_t starter = text.size();  // index in the new text; none yet
  std::size_t n = 0;                  // length of the new text
  int last_class = -1;                // of the marks kept since the starter; -1 when none
  for (std::size_t i = 0; i < text.size(); ++i) {
    const Change now = text[i];
    if (starter < n && last_class < static_cast<int>(now.combining_class)) {
      if (const char32_t composite = Compose(text[starter].c, now.c)) {
        text[starter].c = composite;
        text[starter].change += now.change - 1;
        continue;
      }
    }
    if (now.combining_class == 0) {
      starter = n;
      last_class = -1;
    } else if (starter < n) {
      last_class = now.combining_class;
    }
    text[n++] = now;
  }
  text.resize(n);
}

class Form : public Normalizer {
 public:
  Form(bool compose, bool compatibility) : compose_(compose), compatibility_(compatibility) {}

  Status Apply(AlignedText& text) const override {
    const std::string_view all = text.view();
    std::size_t at = NextChange(all, 0);
    if (at == all.size()) return Ok();
    TextEdit edit(text);
    std::vector<Change> run;
    while (at < all.size()) {
      edit.Keep(at - edit.position());
      run.clear();
      at = ReadRun(all, at, run);
      SortMarks(run);
      if (compose_) ComposeAll(run);
      for (const Change& c : run) edit.Put(c.c, c.change);
      // Code points that composed into the last one are past already; nothing else is left over.
      at = NextChange(all, std::max(at, edit.position()));
    }
    edit.Keep(all.size() - edit.position());
    return Ok();
  }

 private:
  // Whether `c` starts a stretch of its own: it stays as it is, and nothing moves across it.
  bool IsInert(char32_t c) const {
    if (c < 0xA0) return true;
    if (compatibility_ || !compose_) {
      char32_t parts[18];
      return IsComposedStarter(c) && Decompose(c, compatibility_, parts) == 1 && parts[0] == c;
    }
    return IsComposedStarter(c);
  }

  // Where the next stretch begins that may change: the inert code point before the first other one.
  std::size_t NextChange(std::string_view all, std::size_t at) const {
    std::size_t inert = at;
    while (at < all.size()) {
      if (const std::size_t run = AsciiPrefixLength(all.substr(at)); run > 0) {
        at += run;
        inert = at - 1;
        continue;
      }
      const Utf8Step step = DecodeUtf8(all.substr(at));
      if (!IsInert(step.scalar)) return inert;
      inert = at;
      at += step.n_bytes;
    }
    return all.size();
  }

  // Decomposes from `at`, which is an inert code point or the end of the last stretch, to the next
  // inert code point after it. Returns where that is.
  std::size_t ReadRun(std::string_view all, std::size_t at, std::vector<Change>& run) const {
    const std::size_t begin = at;
    while (at < all.size()) {
      const Utf8Step step = DecodeUtf8(all.substr(at));
      if (at != begin && IsInert(step.scalar)) break;
      AppendDecomposed(step.scalar, compatibility_, run);
      at += step.n_bytes;
    }
    return at;
  }

  bool compose_, compatibility_;
};

}  // namespace

std::unique_ptr<Normalizer> MakeNormalForm(NormalForm form) {
  return std::make_unique<Form>(form == NormalForm::kC || form == NormalForm::kKC,
                                form == NormalForm::kKC || form == NormalForm::kKD);
}

}  // namespace lattice::tokenizers
