#include <memory>

#include "base/utf8.h"
#include "tokenizers/normalizer.h"
#include "tokenizers/unicode.h"

namespace lattice::tokenizers {
namespace {

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(const BertNormalizerOptions& options)
      : options_(options), decompose_(MakeNormalForm(NormalForm::kD)) {}

  Status Apply(AlignedText& text) const override {
    if (IsAscii(text.view())) {
      ApplyToAscii(text);
      return Ok();
    }
    if (options_.clean_text || options_.handle_cjk) CleanAndSetApart(text);
    if (options_.strip_accents) {
      LATTICE_TRY_VOID(decompose_->Apply(text));
      Rewrite(text, [](char32_t c, TextEdit& edit, std::uint32_t n_bytes) {
        if (IsNonspacingMark(c)) {
          edit.Drop(n_bytes);
        } else {
          edit.Keep(n_bytes);
        }
      });
    }
    if (options_.lowercase) {
      Rewrite(text, [](char32_t c, TextEdit& edit, std::uint32_t) {
        char32_t lower[2];
        const int n = ToLower(c, lower);
        edit.Replace(lower[0]);
        if (n == 2) edit.Insert(lower[1]);
      });
    }
    return Ok();
  }

 private:
  static bool IsAscii(std::string_view text) {
    unsigned char all = 0;
    for (const char c : text) all |= static_cast<unsigned char>(c);
    return all < 0x80;
  }

  template <typename Step>
  static void Rewrite(AlignedText& text, Step step) {
    TextEdit edit(text);
    const std::string_view all = text.view();
    for (std::size_t at = 0; at < all.size();) {
      const Utf8Step next = DecodeUtf8(all.substr(at));
      step(next.scalar, edit, next.n_bytes);
      at += next.n_bytes;
    }
  }

  void ApplyToAscii(AlignedText& text) const {
    const auto dropped = [&](char c) {
      return options_.clean_text && IsBertRemoved(static_cast<unsigned char>(c));
    };
    bool drops = false;
    char* bytes = text.MutableBytes();
    for (std::size_t i = 0; i < text.view().size(); ++i) {
      const char c = bytes[i];
      drops |= dropped(c);
      if (options_.lowercase && c >= 'A' && c <= 'Z') bytes[i] = static_cast<char>(c + 32);
      if (options_.clean_text && (c == '\t' || c == '\n' || c == '\r')) bytes[i] = ' ';
    }
    if (!drops) return;
    Rewrite(text, [&](char32_t c, TextEdit& edit, std::uint32_t) {
      if (dropped(static_cast<char>(c))) {
        edit.Drop(1);
      } else {
        edit.Keep(1);
      }
    });
  }

  void CleanAndSetApart(AlignedText& text) const {
    Rewrite(text, [&](char32_t c, TextEdit& edit, std::uint32_t n_bytes) {
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

  BertNormalizerOptions options_;
  std::unique_ptr<Normalizer> decompose_;
};

}  // namespace

std::unique_ptr<Normalizer> MakeBertNormalizer(const BertNormalizerOptions& options) {
  return std::make_unique<BertNormalizer>(options);
}

}  // namespace lattice::tokenizers
