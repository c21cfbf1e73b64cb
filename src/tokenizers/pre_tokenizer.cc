#include "tokenizers/pre_tokenizer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "tokenizers/byte_spelling.h"
#include "tokenizers/component.h"
#include "tokenizers/pattern.h"
#include "tokenizers/unicode.h"
#include "tokenizers/word_scanner.h"

namespace lattice::tokenizers {
namespace {

using Words = std::vector<Span>;

template <typename T, typename... Args>
std::unique_ptr<PreTokenizer> Make(Args&&... args) {
  return std::make_unique<T>(std::forward<Args>(args)...);
}

class Sequence : public PreTokenizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<PreTokenizer>> steps) : steps_(std::move(steps)) {}

  Status Apply(AlignedText& text, Words& words) const override {
    for (const auto& step : steps_) {
      LATTICE_TRY_VOID(step->Apply(text, words));
      LATTICE_TRY_VOID(CheckTextSize(text.view().size()));
    }
    return Ok();
  }

  bool needs_origins() const override {
    for (const auto& step : steps_) {
      if (step->needs_origins()) return true;
    }
    return false;
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> steps_;
};

class SplitAtPattern : public PreTokenizer {
 public:
  SplitAtPattern(std::unique_ptr<Pattern> pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  Status Apply(AlignedText& text, Words& words) const override {
    Words pieces, matches;
    for (const Span word : words) {
      matches.clear();
      LATTICE_TRY_VOID(
          pattern_->FindAll(text.view().substr(word.begin, word.end - word.begin), matches));
      for (Span& match : matches) match = {match.begin + word.begin, match.end + word.begin};
      CutAtMatches(word, matches, behavior_, invert_, pieces);
    }
    words.swap(pieces);
    return Ok();
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

// Each code point that has one of `classes` is a match.
class SplitAtClass : public PreTokenizer {
 public:
  SplitAtClass(std::uint8_t classes, SplitBehavior behavior)
      : classes_(classes), behavior_(behavior) {}

  Status Apply(AlignedText& text, Words& words) const override {
    Words pieces, matches;
    const std::string_view all = text.view();
    for (const Span word : words) {
      matches.clear();
      for (std::uint32_t at = word.begin; at < word.end;) {
        const Utf8Step step = DecodeUtf8(all.substr(at));
        if ((ClassesOf(step.scalar) & classes_) != 0) matches.push_back({at, at + step.n_bytes});
        at += step.n_bytes;
      }
      CutAtMatches(word, matches, behavior_, /*invert=*/false, pieces);
    }
    words.swap(pieces);
    return Ok();
  }

 private:
  std::uint8_t classes_;
  SplitBehavior behavior_;
};

// Runs of word characters, and runs of what is neither word character nor space.
class Whitespace : public PreTokenizer {
 public:
  Status Apply(AlignedText& text, Words& words) const override {
    Words pieces;
    const std::string_view all = text.view();
    for (const Span word : words) {
      std::uint8_t before =
          kSpace;  // The kind of the piece being read: kWord, 0, or kSpace for none.
      for (std::uint32_t at = word.begin; at < word.end;) {
        const Utf8Step step = DecodeUtf8(all.substr(at));
        const std::uint8_t classes = ClassesOf(step.scalar);
        const std::uint8_t kind = (classes & kSpace) != 0 ? kSpace : classes & kWord;
        const std::uint32_t end = at + step.n_bytes;
        if (kind != kSpace && kind == before) {
          pieces.back().end = end;
        } else if (kind != kSpace) {
          pieces.push_back({at, end});
        }
        before = kind;
        at = end;
      }
    }
    words.swap(pieces);
    return Ok();
  }
};

class BertSplit : public PreTokenizer {
 public:
  Status Apply(AlignedText& text, Words& words) const override {
    Words pieces;
    const std::string_view all = text.view();
    for (const Span word : words) {
      std::uint32_t begin = word.begin;  // of the piece being read
      const auto cut = [&](std::uint32_t end) {
        if (begin < end) pieces.push_back({begin, end});
      };
      for (std::uint32_t at = word.begin; at < word.end;) {
        const auto byte = static_cast<unsigned char>(all[at]);
        Utf8Step step{byte, 1, true};
        if (byte >= 0x80) step = DecodeUtf8(all.substr(at));
        const std::uint32_t end = at + step.n_bytes;
        const std::uint8_t classes = byte < 0x80 ? kAsciiClasses[byte] : ClassesOf(step.scalar);
        if ((classes & (kSpace | kPunctuation)) != 0) {
          cut(at);
          if ((classes & kPunctuation) != 0) pieces.push_back({at, end});
          begin = end;
        }
        at = end;
      }
      cut(word.end);
    }
    words.swap(pieces);
    return Ok();
  }
};

class FixedLength : public PreTokenizer {
 public:
  explicit FixedLength(std::size_t n_chars) : n_chars_(n_chars) {}

  Status Apply(AlignedText& text, Words& words) const override {
    Words pieces;
    for (const Span word : words) {
      std::size_t n = 0;
      std::uint32_t begin = word.begin;
      for (std::uint32_t at = word.begin; at < word.end;) {
        at += DecodeUtf8(text.view().substr(at)).n_bytes;
        if (++n == n_chars_ || at == word.end) {
          pieces.push_back({begin, at});
          begin = at;
          n = 0;
        }
      }
    }
    words.swap(pieces);
    return Ok();
  }

 private:
  std::size_t n_chars_;
};

class Scan : public PreTokenizer {
 public:
  explicit Scan(WordScanner scanner) : scanner_(scanner) {}

  Status Apply(AlignedText& text, Words& words) const override {
    Words pieces;
    pieces.reserve(text.view().size() / 4);
    for (const Span word : words) scanner_.Split(text.view(), word, pieces);
    words.swap(pieces);
    return Ok();
  }

 private:
  WordScanner scanner_;
};

// Edits that act on each word by itself: `Edit(word, edit)` rewrites text[word], the rest is
// copied.
template <typename Edit>
void EditWords(AlignedText& text, Words& words, Edit edit_word) {
  TextEdit edit(text);
  std::size_t n_written = 0;
  for (Span& word : words) {
    edit.Drop(word.begin - edit.position());  // What no word holds is lost to the model anyway.
    const std::size_t begin = n_written;
    n_written = edit_word(word, edit);
    word = {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(n_written)};
  }
}

class PrefixSpace : public PreTokenizer {
 public:
  Status Apply(AlignedText& text, Words& words) const override {
    const std::string_view all = text.view();
    EditWords(text, words, [&](Span word, TextEdit& edit) {
      if (all[word.begin] != ' ') {
        const Utf8Step first = DecodeUtf8(all.substr(word.begin));
        edit.Replace(' ');
        edit.Insert(first.scalar);
      }
      edit.Keep(word.end - edit.position());
      return edit.n_written();
    });
    return Ok();
  }
};

class SpellBytes : public PreTokenizer {
 public:
  Status Apply(AlignedText& text, Words& words) const override {
    const std::string_view all = text.view();
    EditWords(text, words, [&](Span word, TextEdit& edit) {
      SpellInByteAlphabet(all.substr(word.begin, word.end - word.begin), edit);
      return edit.n_written();
    });
    return Ok();
  }
};

class Metaspace : public PreTokenizer {
 public:
  Metaspace(std::string_view replacement, PrependScheme scheme, bool split)
      : replacement_(replacement),
        scalar_(DecodeUtf8(replacement).scalar),
        scheme_(scheme),
        split_(split) {}

  Status Apply(AlignedText& text, Words& words) const override {
    ReplaceSpaces(text, words);
    if (split_) Split(text.view(), words);
    return Ok();
  }

  bool needs_origins() const override { return scheme_ == PrependScheme::kFirst; }

 private:
  bool Prepends(const AlignedText& text, Span word) const {
    const std::string_view piece = text.view().substr(word.begin, word.end - word.begin);
    if (scheme_ == PrependScheme::kNever || piece[0] == ' ') return false;
    if (piece.starts_with(replacement_)) return false;
    return scheme_ == PrependScheme::kAlways || text.OriginOf(word).begin == 0;
  }

  void ReplaceSpaces(AlignedText& text, Words& words) const {
    const std::string_view all = text.view();
    std::vector<bool> prepends(words.size());
    for (std::size_t i = 0; i < words.size(); ++i) prepends[i] = Prepends(text, words[i]);
    std::size_t index = 0;
    EditWords(text, words, [&](Span word, TextEdit& edit) {
      if (prepends[index++]) {
        const Utf8Step first = DecodeUtf8(all.substr(word.begin));
        edit.Replace(scalar_);
        edit.Insert(first.scalar);
      }
      for (std::size_t at = edit.position(); at < word.end; at = edit.position()) {
        const std::size_t space = std::min<std::size_t>(all.find(' ', at), word.end);
        edit.Keep(space - at);
        if (space < word.end) {
          edit.Drop(1);
          edit.Insert(replacement_);
        }
      }
      return edit.n_written();
    });
  }

  // A piece starts at each replacement character, but for a run of them: there, each but the last
  // is a piece by itself.
  void Split(std::string_view all, Words& words) const {
    Words pieces;
    pieces.reserve(words.size() + all.size() / 8);
    for (const Span word : words) {
      const std::string_view piece = all.substr(0, word.end);
      std::size_t begin = word.begin;
      for (std::size_t at = piece.find(replacement_, begin); at != std::string_view::npos;
           at = piece.find(replacement_, at + replacement_.size())) {
        if (begin < at) {
          pieces.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(at)});
        }
        begin = at;
      }
      pieces.push_back({static_cast<std::uint32_t>(begin), word.end});
    }
    words.swap(pieces);
  }

  std::string replacement_;
  char32_t scalar_;
  PrependScheme scheme_;
  bool split_;
};

Result<std::unique_ptr<PreTokenizer>> MakeSplit(const JsonView& spec) {
  LATTICE_TRY(const JsonView pattern_spec, spec.Get("pattern"));
  LATTICE_TRY(const JsonView behavior_spec, spec.Get("behavior"));
  LATTICE_TRY(const SplitBehavior behavior, ParseSplitBehavior(behavior_spec));
  LATTICE_TRY(const bool invert, spec.BoolOr("invert", false));
  // A scanner's words leave no gaps, so these ways of cutting are all the same to it.
  const bool isolates =
      behavior == SplitBehavior::kIsolated || (behavior == SplitBehavior::kRemoved && invert);
  if (const auto expression = pattern_spec.Find("Regex"); expression && isolates) {
    LATTICE_TRY(const std::string_view text, expression->String());
    if (const auto scanner = WordScanner::For(text)) return Make<Scan>(*scanner);
  }
  LATTICE_TRY(auto pattern, MakePattern(pattern_spec));
  return Make<SplitAtPattern>(std::move(pattern), behavior, invert);
}

Result<std::unique_ptr<PreTokenizer>> MakeMetaspaceFrom(const JsonView& spec) {
  LATTICE_TRY(const std::string replacement, spec.StringOr("replacement", "\u2581"));
  if (replacement.empty() || DecodeUtf8(replacement).n_bytes != replacement.size()) {
    return spec.Complain("'replacement' must be one character");
  }
  LATTICE_TRY(const PrependScheme scheme, ParsePrependScheme(spec));
  LATTICE_TRY(const bool split, spec.BoolOr("split", true));
  return MakeMetaspace(replacement, scheme, split);
}

Result<std::unique_ptr<PreTokenizer>> MakeDelimiterSplit(const JsonView& spec) {
  LATTICE_TRY(const JsonView delimiter, spec.Get("delimiter"));
  LATTICE_TRY(const std::string_view text, delimiter.String());
  if (text.empty() || DecodeUtf8(text).n_bytes != text.size()) {
    return delimiter.Complain("expected one character");
  }
  const boost::json::value pattern = {{"String", text}};
  LATTICE_TRY(auto literal, MakePattern(JsonView(pattern, delimiter.where())));
  return Make<SplitAtPattern>(std::move(literal), SplitBehavior::kRemoved, false);
}

Status AppendByteLevel(const JsonView& spec, std::vector<std::unique_ptr<PreTokenizer>>& steps) {
  LATTICE_TRY(const bool prefix, spec.BoolOr("add_prefix_space", true));
  LATTICE_TRY(const bool use_regex, spec.BoolOr("use_regex", true));
  if (prefix) steps.push_back(Make<PrefixSpace>());
  if (use_regex) steps.push_back(Make<Scan>(WordScanner::Gpt2()));
  steps.push_back(Make<SpellBytes>());
  return Ok();
}

Result<std::unique_ptr<PreTokenizer>> MakeSimple(const JsonView& spec, std::string_view type) {
  if (type == "Split") return MakeSplit(spec);
  if (type == "Metaspace") return MakeMetaspaceFrom(spec);
  if (type == "CharDelimiterSplit" || type == "Delimiter") return MakeDelimiterSplit(spec);
  if (type == "WhitespaceSplit") return Make<SplitAtClass>(kSpace, SplitBehavior::kRemoved);
  if (type == "Whitespace") return Make<Whitespace>();
  if (type == "Digits") {
    LATTICE_TRY(const bool individual, spec.BoolOr("individual_digits", false));
    return Make<SplitAtClass>(kNumber,
                              individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
  }
  if (type == "Punctuation") {
    SplitBehavior behavior = SplitBehavior::kIsolated;
    if (const auto name = spec.Find("behavior")) {
      LATTICE_TRY(behavior, ParseSplitBehavior(*name));
    }
    return Make<SplitAtClass>(kPunctuation, behavior);
  }
  if (type == "FixedLength") {
    LATTICE_TRY(const std::int64_t length, spec.IntOr("length", 5, 1, 1 << 20));
    return Make<FixedLength>(static_cast<std::size_t>(length));
  }
  return Make<BertSplit>();
}

// Appends the steps of a file in order, nested sequences laid flat.
Status AppendSteps(const JsonView& spec, std::vector<std::unique_ptr<PreTokenizer>>& steps,
                   bool& ends_in_byte_alphabet) {
  LATTICE_TRY(const std::string_view type,
              ComponentType(spec, "pre-tokenizer",
                            {"BertPreTokenizer", "ByteLevel", "CharDelimiterSplit", "Delimiter",
                             "Digits", "FixedLength", "Metaspace", "Punctuation", "Sequence",
                             "Split", "Whitespace", "WhitespaceSplit"}));
  if (type == "Sequence") {
    LATTICE_TRY(const JsonView list, spec.Get("pretokenizers"));
    LATTICE_TRY(const std::vector<JsonView> items, list.Array());
    for (const JsonView& item : items) {
      LATTICE_TRY_VOID(AppendSteps(item, steps, ends_in_byte_alphabet));
    }
    return Ok();
  }
  ends_in_byte_alphabet = type == "ByteLevel";
  if (type == "ByteLevel") return AppendByteLevel(spec, steps);
  LATTICE_TRY(auto step, MakeSimple(spec, type));
  steps.push_back(std::move(step));
  return Ok();
}

}  // namespace

Result<PrependScheme> ParsePrependScheme(const JsonView& spec) {
  LATTICE_TRY(const bool adds_prefix, spec.BoolOr("add_prefix_space", true));
  LATTICE_TRY(const std::string name,
              spec.StringOr("prepend_scheme", adds_prefix ? "always" : "never"));
  if (!adds_prefix && name != "never") {
    return spec.Complain("'add_prefix_space' contradicts 'prepend_scheme'");
  }
  if (name == "always") return PrependScheme::kAlways;
  if (name == "first") return PrependScheme::kFirst;
  if (name == "never") return PrependScheme::kNever;
  return Error{ErrorCode::kUnsupported, spec.where() + ": unknown prepend_scheme '" + name +
                                            "'; known are always, first, never"};
}

std::unique_ptr<PreTokenizer> MakeMetaspace(std::string_view replacement, PrependScheme scheme,
                                            bool split) {
  return Make<Metaspace>(replacement, scheme, split);
}

Result<PreTokenizerParts> MakePreTokenizer(const JsonView& spec, bool raw_bytes) {
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  bool ends_in_byte_alphabet = false;
  LATTICE_TRY_VOID(AppendSteps(spec, steps, ends_in_byte_alphabet));
  PreTokenizerParts parts;
  if (raw_bytes && ends_in_byte_alphabet) {
    steps.pop_back();
    parts.input = BpeInput::kRawBytes;
  }
  parts.pre_tokenizer = Make<Sequence>(std::move(steps));
  return parts;
}

}  // namespace lattice::tokenizers
