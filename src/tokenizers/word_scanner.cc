#include "tokenizers/word_scanner.h"

#include <cstddef>

#include "base/utf8.h"
#include "tokenizers/unicode.h"

namespace lattice::tokenizers {
namespace {

constexpr std::uint32_t kNoLimit = UINT32_MAX;

// One code point: its classes and its length in bytes; nothing of both at the end of the text.
struct Char {
  std::uint8_t classes = 0;
  std::uint32_t n_bytes = 0;
};

class Scanner {
 public:
  Scanner(std::string_view text, std::uint32_t end, std::uint8_t letter)
      : text_(text), end_(end), letter_(letter) {}

  Char At(std::uint32_t at) const {
    if (at >= end_) return {};
    const auto byte = static_cast<unsigned char>(text_[at]);
    if (byte < 0x80) return {kAsciiClasses[byte], 1};
    const Utf8Step step = DecodeUtf8(text_.substr(at, end_ - at));
    return {ClassesOf(step.scalar), step.n_bytes};
  }

  bool IsLetter(Char c) const { return (c.classes & letter_) != 0; }
  static bool IsNumber(Char c) { return (c.classes & kNumber) != 0; }
  static bool IsSpace(Char c) { return (c.classes & kSpace) != 0; }
  // Neither space, letter nor number. The end of the text is none of these either.
  bool IsOther(Char c) const {
    return c.n_bytes != 0 && (c.classes & (kSpace | kNumber | letter_)) == 0;
  }

  std::uint32_t SkipLetters(std::uint32_t at) const {
    for (Char c = At(at); IsLetter(c); c = At(at)) at += c.n_bytes;
    return at;
  }
  std::uint32_t SkipNumbers(std::uint32_t at, std::uint32_t most) const {
    for (Char c = At(at); IsNumber(c) && most > 0; c = At(at), --most) at += c.n_bytes;
    return at;
  }
  std::uint32_t SkipOthers(std::uint32_t at) const {
    for (Char c = At(at); IsOther(c); c = At(at)) at += c.n_bytes;
    return at;
  }
  std::uint32_t SkipLineBreaks(std::uint32_t at) const {
    while (at < end_ && (text_[at] == '\r' || text_[at] == '\n')) ++at;
    return at;
  }

  // 's 't 're 've 'm 'll 'd after the apostrophe at `at`: the end of it, or `at` when there is
  // none.
  std::uint32_t SkipContraction(std::uint32_t at, bool any_case) const {
    const auto next = [&](std::uint32_t i) {
      if (i >= end_) return '\0';
      const char c = text_[i];
      return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    };
    const char first = next(at + 1), second = next(at + 2);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
    if ((first == 'r' || first == 'v') && second == 'e') return at + 3;
    if (first == 'l' && second == 'l') return at + 3;
    // The long s folds to s.
    if (any_case && at + 3 <= end_ && text_.substr(at + 1, 2) == "\u017F") return at + 3;
    return at;
  }

  // \s+(?!\S)|\s+ from a space on: a run of spaces leaves its last one to the word that follows.
  std::uint32_t SkipSpaces(std::uint32_t at) const {
    std::uint32_t last = at;
    const std::uint32_t begin = at;
    for (Char c = At(at); IsSpace(c); c = At(at)) {
      last = at;
      at += c.n_bytes;
    }
    return at >= end_ || last == begin ? at : last;
  }

  // \s*[\r\n]+ from a space on: to the last line break of the run; `at` when it has none.
  std::uint32_t SkipToLineBreak(std::uint32_t at) const {
    std::uint32_t after_break = at;
    for (Char c = At(at); IsSpace(c); c = At(at)) {
      at += c.n_bytes;
      if ((c.classes & kLineBreak) != 0) after_break = at;
    }
    return after_break;
  }

 private:
  std::string_view text_;
  std::uint32_t end_;
  std::uint8_t letter_;
};

std::uint32_t NextGpt2(const Scanner& scan, std::string_view text, std::uint32_t at) {
  if (text[at] == '\'') {
    const std::uint32_t end = scan.SkipContraction(at, false);
    if (end != at) return end;
  }
  const std::uint32_t word = text[at] == ' ' ? at + 1 : at;
  const Char c = scan.At(word);
  if (scan.IsLetter(c)) return scan.SkipLetters(word);
  if (Scanner::IsNumber(c)) return scan.SkipNumbers(word, kNoLimit);
  if (scan.IsOther(c)) return scan.SkipOthers(word);
  return scan.SkipSpaces(at);
}

std::uint32_t NextCl100k(const Scanner& scan, std::string_view text, std::uint32_t at,
                         std::uint32_t max_digits) {
  if (text[at] == '\'') {
    const std::uint32_t end = scan.SkipContraction(at, true);
    if (end != at) return end;
  }
  const Char c = scan.At(at);
  if (scan.IsLetter(c)) return scan.SkipLetters(at);
  if (Scanner::IsNumber(c)) return scan.SkipNumbers(at, max_digits);
  if ((c.classes & kLineBreak) == 0 && scan.IsLetter(scan.At(at + c.n_bytes))) {
    return scan.SkipLetters(at + c.n_bytes);
  }
  const std::uint32_t word = text[at] == ' ' ? at + 1 : at;
  if (scan.IsOther(scan.At(word))) return scan.SkipLineBreaks(scan.SkipOthers(word));
  const std::uint32_t after_break = scan.SkipToLineBreak(at);
  return after_break != at ? after_break : scan.SkipSpaces(at);
}

}  // namespace

WordScanner WordScanner::Gpt2() { return {Family::kGpt2, kLetter, kNoLimit}; }

std::optional<WordScanner> WordScanner::For(std::string_view expression) {
  struct Known {
    std::string_view expression;
    WordScanner scanner;
  };
  static const Known kKnown[] = {
      {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", Gpt2()},
      // Qwen 2 and 3
      {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       {Family::kCl100k, kLetter, 1}},
      // Qwen 3.5
      {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       {Family::kCl100k, kLetter | kMark, 1}},
      // Llama 3
      {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       {Family::kCl100k, kLetter, 3}},
      {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       {Family::kCl100k, kLetter, kNoLimit}},
  };
  for (const Known& known : kKnown) {
    if (known.expression == expression) return known.scanner;
  }
  return std::nullopt;
}

void WordScanner::Split(std::string_view text, Span whole, std::vector<Span>& out) const {
  const Scanner scan(text, whole.end, letter_);
  for (std::uint32_t at = whole.begin; at < whole.end;) {
    const std::uint32_t end = family_ == Family::kGpt2 ? NextGpt2(scan, text, at)
                                                       : NextCl100k(scan, text, at, max_digits_);
    out.push_back({at, end});
    at = end;
  }
}

}  // namespace lattice::tokenizers
