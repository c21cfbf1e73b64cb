#include "tokenizers/normalizer.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "tokenizers/base64.h"
#include "tokenizers/byte_spelling.h"
#include "tokenizers/component.h"
#include "tokenizers/pattern.h"
#include "tokenizers/unicode.h"

namespace lattice::tokenizers {
namespace {

class Sequence : public Normalizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<Normalizer>> steps) : steps_(std::move(steps)) {}
  Status Apply(AlignedText& text) const override {
    for (const auto& step : steps_) {
      LATTICE_TRY_VOID(step->Apply(text));
      LATTICE_TRY_VOID(CheckTextSize(text.view().size()));
    }
    return Ok();
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> steps_;
};

class Lowercase : public Normalizer {
 public:
  Status Apply(AlignedText& text) const override {
    TextEdit edit(text);
    const std::string_view all = text.view();
    for (std::size_t at = 0; at < all.size();) {
      const Utf8Step step = DecodeUtf8(all.substr(at));
      char32_t lower[2];
      const int n = ToLower(step.scalar, lower);
      edit.Replace(lower[0]);
      if (n == 2) edit.Insert(lower[1]);
      at += step.n_bytes;
    }
    return Ok();
  }
};

class Strip : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}

  Status Apply(AlignedText& text) const override {
    const std::string_view all = text.view();
    std::size_t first = all.size(),
                last = 0;  // The text without spaces at its ends: [first, last).
    for (std::size_t at = 0; at < all.size();) {
      const Utf8Step step = DecodeUtf8(all.substr(at));
      if (!IsSpace(step.scalar)) {
        first = std::min(first, at);
        last = at + step.n_bytes;
      }
      at += step.n_bytes;
    }
    const std::size_t begin = left_ ? first : 0;
    const std::size_t end = right_ ? std::max(begin, last) : all.size();
    if (begin == 0 && end == all.size()) return Ok();
    TextEdit edit(text);
    edit.Drop(begin);
    edit.Keep(end - begin);
    return Ok();
  }

 private:
  bool left_, right_;
};

// Leaves out code points, and puts a space in place of others.
class Filter : public Normalizer {
 public:
  enum class Action { kKeep, kDrop, kSpace };

  Status Apply(AlignedText& text) const override {
    TextEdit edit(text);
    const std::string_view all = text.view();
    for (std::size_t at = 0; at < all.size();) {
      const Utf8Step step = DecodeUtf8(all.substr(at));
      const Action action = ActionFor(step.scalar);
      if (action == Action::kKeep) edit.Keep(step.n_bytes);
      if (action == Action::kDrop) edit.Drop(step.n_bytes);
      if (action == Action::kSpace) edit.Replace(' ');
      at += step.n_bytes;
    }
    return Ok();
  }

 private:
  virtual Action ActionFor(char32_t c) const = 0;
};

class StripAccents : public Filter {
  Action ActionFor(char32_t c) const override {
    return IsCombiningMark(c) ? Action::kDrop : Action::kKeep;
  }
};

class Nmt : public Filter {
  Action ActionFor(char32_t c) const override {
    if ((c >= 0x1 && c <= 0x8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F ||
        c == 0x9F) {
      return Action::kDrop;
    }
    const bool space = c == 0x9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
                       (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                       c == 0xFEFF || c == 0xFFFD;
    return space ? Action::kSpace : Action::kKeep;
  }
};

class Prepend : public Normalizer {
 public:
  explicit Prepend(std::string_view prefix) : prefix_(prefix) {}

  Status Apply(AlignedText& text) const override {
    PrependTo(text, prefix_);
    return Ok();
  }

 private:
  std::string prefix_;
};

class Replace : public Normalizer {
 public:
  Replace(std::unique_ptr<Pattern> pattern, std::string_view content)
      : pattern_(std::move(pattern)), content_(content) {}

  Status Apply(AlignedText& text) const override {
    std::vector<Span> matches;
    LATTICE_TRY_VOID(pattern_->FindAll(text.view(), matches));
    if (matches.empty()) return Ok();
    LATTICE_TRY_VOID(CheckTextSize(text.view().size() + matches.size() * content_.size()));
    TextEdit edit(text);
    for (const Span match : matches) {
      edit.Keep(match.begin - edit.position());
      edit.Drop(match.end - match.begin);
      edit.Insert(content_);
    }
    edit.Keep(text.view().size() - edit.position());
    return Ok();
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  std::string content_;
};

class ByteLevel : public Normalizer {
 public:
  Status Apply(AlignedText& text) const override {
    const std::string_view all = text.view();
    TextEdit edit(text);
    SpellInByteAlphabet(all, edit);
    return Ok();
  }
};

template <typename T, typename... Args>
std::unique_ptr<Normalizer> Make(Args&&... args) {
  return std::make_unique<T>(std::forward<Args>(args)...);
}

Result<std::unique_ptr<Normalizer>> MakeSequence(const JsonView& spec) {
  LATTICE_TRY(const JsonView list, spec.Get("normalizers"));
  LATTICE_TRY(const std::vector<JsonView> items, list.Array());
  std::vector<std::unique_ptr<Normalizer>> steps;
  for (const JsonView& item : items) {
    LATTICE_TRY(auto step, MakeNormalizer(item));
    steps.push_back(std::move(step));
  }
  return MakeNormalizerSequence(std::move(steps));
}

Result<std::unique_ptr<Normalizer>> MakeBert(const JsonView& spec) {
  BertNormalizerOptions options;
  LATTICE_TRY(options.clean_text, spec.BoolOr("clean_text", true));
  LATTICE_TRY(options.handle_cjk, spec.BoolOr("handle_chinese_chars", true));
  LATTICE_TRY(options.lowercase, spec.BoolOr("lowercase", true));
  LATTICE_TRY(options.strip_accents, spec.BoolOr("strip_accents", options.lowercase));
  return MakeBertNormalizer(options);
}

Result<std::unique_ptr<Normalizer>> MakePrecompiled(const JsonView& spec) {
  LATTICE_TRY(const JsonView encoded, spec.Get("precompiled_charsmap"));
  LATTICE_TRY(const std::string_view text, encoded.String());
  const auto blob = DecodeBase64(text);
  if (!blob) return encoded.Complain("expected base64");
  auto map = MakeCharMap(*blob);
  if (!map) return std::move(map).error().Within(encoded.where());
  return map;
}

Result<std::unique_ptr<Normalizer>> MakeReplace(const JsonView& spec) {
  LATTICE_TRY(const JsonView pattern_spec, spec.Get("pattern"));
  LATTICE_TRY(auto pattern, MakePattern(pattern_spec));
  LATTICE_TRY(const JsonView content, spec.Get("content"));
  LATTICE_TRY(const std::string_view text, content.String());
  return Make<Replace>(std::move(pattern), text);
}

}  // namespace

std::unique_ptr<Normalizer> MakeNormalizerSequence(std::vector<std::unique_ptr<Normalizer>> steps) {
  return Make<Sequence>(std::move(steps));
}

Result<std::unique_ptr<Normalizer>> MakeNormalizer(const JsonView& spec) {
  LATTICE_TRY(const std::string_view type,
              ComponentType(
                  spec, "normalizer",
                  {"BertNormalizer", "ByteLevel", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt",
                   "Precompiled", "Prepend", "Replace", "Sequence", "Strip", "StripAccents"}));
  if (type == "Sequence") return MakeSequence(spec);
  if (type == "BertNormalizer") return MakeBert(spec);
  if (type == "Precompiled") return MakePrecompiled(spec);
  if (type == "Replace") return MakeReplace(spec);
  if (type == "NFC") return MakeNormalForm(NormalForm::kC);
  if (type == "NFD") return MakeNormalForm(NormalForm::kD);
  if (type == "NFKC") return MakeNormalForm(NormalForm::kKC);
  if (type == "NFKD") return MakeNormalForm(NormalForm::kKD);
  if (type == "Lowercase") return Make<Lowercase>();
  if (type == "StripAccents") return Make<StripAccents>();
  if (type == "Nmt") return Make<Nmt>();
  if (type == "ByteLevel") return Make<ByteLevel>();
  if (type == "Prepend") {
    LATTICE_TRY(const JsonView prefix, spec.Get("prepend"));
    LATTICE_TRY(const std::string_view text, prefix.String());
    return Make<Prepend>(text);
  }
  LATTICE_TRY(const bool left, spec.BoolOr("strip_left", true));
  LATTICE_TRY(const bool right, spec.BoolOr("strip_right", true));
  return Make<Strip>(left, right);
}

}  // namespace lattice::tokenizers
