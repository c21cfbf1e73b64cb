#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "base/utf8.h"
#include "tokenizers/normalizer.h"
#include "tokenizers/unicode.h"

namespace lattice::tokenizers {
namespace {

bool IsAsciiByte(char byte) { return static_cast<unsigned char>(byte) < 0x80; }

// Calls step(scalar, edit, n_bytes) for each code point beyond ASCII, and copies what is ASCII.
template <typename Step>
void RewriteBeyondAscii(AlignedText& text, Step step) {
  const std::string_view all = text.view();
  std::size_t at = 0;
  TextEdit edit(text);
  while (at < all.size()) {
    const std::size_t run = AsciiPrefixLength(all.substr(at));
    edit.Keep(run);
    at += run;
    while (at < all.size() && !IsAsciiByte(all[at])) {
      const Utf8Step next = DecodeUtf8(all.substr(at));
      step(next.scalar, edit, next.n_bytes);
      at += next.n_bytes;
    }
  }
}

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(const BertNormalizerOptions& options)
      : options_(options), decompose_(MakeNormalForm(NormalForm::kD)) {
    for (std::size_t c = 0; c < 128; ++c) {
      const bool blank = options_.clean_text && (kAsciiClasses[c] & kSpace) != 0;
      char32_t lower[2] = {static_cast<char32_t>(c), 0};
      if (options_.lowercase) ToLower(lower[0], lower);
      ascii_[c] = static_cast<char>(blank ? U' ' : lower[0]);
      if (options_.clean_text && IsBertRemoved(static_cast<char32_t>(c))) ascii_[c] = kRemoved;
    }
    for (std::size_t c = 128; c < 256; ++c) ascii_[c] = static_cast<char>(c);
  }

  Status Apply(AlignedText& text) const override {
    bool beyond_ascii = false;
    if (MapAscii(text, beyond_ascii)) DropRemoved(text);
    if (!beyond_ascii) return Ok();
    if (options_.clean_text || options_.handle_cjk) CleanAndSetApart(text);
    if (options_.strip_accents) {
      LATTICE_TRY_VOID(decompose_->Apply(text));
      RewriteBeyondAscii(text, [](char32_t c, TextEdit& edit, std::uint32_t n_bytes) {
        if (IsNonspacingMark(c)) {
          edit.Drop(n_bytes);
        } else {
          edit.Keep(n_bytes);
        }
      });
    }
    if (options_.lowercase) Lowercase(text);
    return Ok();
  }

 private:
  // Stands for a character to be left out; no ASCII character maps to it otherwise.
  static constexpr char kRemoved = '\x7F';

  // The steps that concern ASCII characters do not depend on their neighbours, so all are done in
  // one pass. Returns whether some are to be left out.
  bool MapAscii(AlignedText& text, bool& beyond_ascii) const {
    char* bytes = text.MutableBytes();
    const std::size_t size = text.view().size();
    unsigned char any = 0;
    bool removes = false;
    for (std::size_t i = 0; i < size; ++i) {
      const auto byte = static_cast<unsigned char>(bytes[i]);
      const char mapped = ascii_[byte];
      any |= byte;
      removes |= mapped == kRemoved;
      bytes[i] = mapped;
    }
    beyond_ascii = any >= 0x80;
    return removes && options_.clean_text;
  }

  static void DropRemoved(AlignedText& text) {
    const std::string_view all = text.view();
    TextEdit edit(text);
    for (std::size_t at = all.find(kRemoved); at != std::string_view::npos;
         at = all.find(kRemoved, at + 1)) {
      edit.Keep(at - edit.position());
      edit.Drop(1);
    }
    edit.Keep(all.size() - edit.position());
  }

  void CleanAndSetApart(AlignedText& text) const {
    RewriteBeyondAscii(text, [&](char32_t c, TextEdit& edit, std::uint32_t n_bytes) {
      if (options_.clean_text && IsBertRemoved(c)) {
        edit.Drop(n_bytes);
      } else if (options_.clean_text && IsSpace(c)) {
        edit.Replace(' ');
      } else if (options_.handle_cjk && IsCjkIdeograph(c)) {
        edit.Replace(' ');
        edit.Insert(c);
        edit.Insert(' ');
      } else {
        edit.Keep(n_bytes);
      }
    });
  }

  static void Lowercase(AlignedText& text) {
    // Decomposition has brought new ASCII letters.
    char* bytes = text.MutableBytes();
    for (std::size_t i = 0; i < text.view().size(); ++i) {
      if (bytes[i] >= 'A' && bytes[i] <= 'Z') bytes[i] = static_cast<char>(bytes[i] + 32);
    }
    RewriteBeyondAscii(text, [](char32_t c, TextEdit& edit, std::uint32_t n_bytes) {
      char32_t lower[2];
      const int n = ToLower(c, lower);
      if (n == 1 && lower[0] == c) {
        edit.Keep(n_bytes);
        return;
      }
      edit.Replace(lower[0]);
      if (n == 2) edit.Insert(lower[1]);
    });
  }

  BertNormalizerOptions options_;
  std::array<char, 256> ascii_{};  // What each byte becomes; bytes beyond ASCII stay.
  std::unique_ptr<Normalizer> decompose_;
};

}  // namespace

std::unique_ptr<Normalizer> MakeBertNormalizer(const BertNormalizerOptions& options) {
  return std::make_unique<BertNormalizer>(options);
}

}  // namespace lattice::tokenizers
