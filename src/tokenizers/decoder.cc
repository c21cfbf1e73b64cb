#include "tokenizers/decoder.h"

#include <optional>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "tokenizers/aligned_text.h"
#include "tokenizers/byte_spelling.h"
#include "tokenizers/component.h"
#include "tokenizers/pattern.h"
#include "tokenizers/pre_tokenizer.h"

namespace lattice::tokenizers {
namespace {

using Tokens = std::vector<std::string>;

template <typename T, typename... Args>
std::unique_ptr<Decoder> Make(Args&&... args) {
  return std::make_unique<T>(std::forward<Args>(args)...);
}

std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  if (from.empty()) return std::string(text);
  std::size_t at = 0;
  for (std::size_t next = text.find(from); next != std::string_view::npos;
       next = text.find(from, at)) {
    out += text.substr(at, next - at);
    out += to;
    at = next + from.size();
  }
  return out += text.substr(at);
}

class Sequence : public Decoder {
 public:
  explicit Sequence(std::vector<std::unique_ptr<Decoder>> steps) : steps_(std::move(steps)) {}
  Status Apply(Tokens& tokens) const override {
    for (const auto& step : steps_) LATTICE_TRY_VOID(step->Apply(tokens));
    return Ok();
  }

 private:
  std::vector<std::unique_ptr<Decoder>> steps_;
};

class ByteLevel : public Decoder {
 public:
  Status Apply(Tokens& tokens) const override {
    std::string bytes;
    for (const std::string& token : tokens) {
      const auto spelled = BytesFromAlphabet(token);
      bytes += spelled ? *spelled : token;
    }
    tokens.assign(1, ToValidUtf8(bytes));
    return Ok();
  }
};

class WordPiece : public Decoder {
 public:
  WordPiece(std::string prefix, bool cleanup) : prefix_(std::move(prefix)), cleanup_(cleanup) {}

  Status Apply(Tokens& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      std::string& token = tokens[i];
      if (i != 0 && token.starts_with(prefix_)) {
        token.erase(0, prefix_.size());
      } else if (i != 0) {
        token.insert(0, " ");
      }
      if (cleanup_) token = Cleanup(std::move(token));
    }
    return Ok();
  }

 private:
  // Joins English punctuation and contractions to the word before. Order matters.
  static std::string Cleanup(std::string token) {
    constexpr std::pair<std::string_view, std::string_view> kRules[] = {
        {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
        {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
        {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    for (const auto& [from, to] : kRules) {
      if (token.find(from) != std::string::npos) token = ReplaceAll(token, from, to);
    }
    return token;
  }

  std::string prefix_;
  bool cleanup_;
};

class Metaspace : public Decoder {
 public:
  Metaspace(std::string replacement, PrependScheme scheme)
      : replacement_(std::move(replacement)), scheme_(scheme) {}

  Status Apply(Tokens& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool drops = i == 0 && scheme_ != PrependScheme::kNever;
      tokens[i] = ReplaceAll(tokens[i], replacement_, drops ? "" : " ");
    }
    return Ok();
  }

 private:
  std::string replacement_;
  PrependScheme scheme_;
};

class ByteFallback : public Decoder {
 public:
  Status Apply(Tokens& tokens) const override {
    Tokens out;
    std::string bytes;
    const auto flush = [&] {
      if (bytes.empty()) return;
      if (IsValidUtf8(bytes)) {
        out.push_back(std::move(bytes));
      } else {
        out.insert(out.end(), bytes.size(), "\uFFFD");
      }
      bytes.clear();
    };
    for (std::string& token : tokens) {
      if (const auto byte = ByteOf(token)) {
        bytes.push_back(*byte);
      } else {
        flush();
        out.push_back(std::move(token));
      }
    }
    flush();
    tokens.swap(out);
    return Ok();
  }

 private:
  // The byte that "<0x41>" spells.
  static std::optional<char> ByteOf(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
    const int high = HexDigit(token[3]), low = HexDigit(token[4]);
    if (high < 0 || low < 0) return std::nullopt;
    return static_cast<char>(high * 16 + low);
  }
  static int HexDigit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  }
};

class Fuse : public Decoder {
 public:
  Status Apply(Tokens& tokens) const override {
    std::string all;
    for (const std::string& token : tokens) all += token;
    tokens.assign(1, all);
    return Ok();
  }
};

// Takes away up to `start` leading and `stop` trailing copies of a character.
class Strip : public Decoder {
 public:
  Strip(std::string content, std::size_t start, std::size_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}

  Status Apply(Tokens& tokens) const override {
    for (std::string& token : tokens) {
      std::string_view rest = token;
      for (std::size_t i = 0; i < start_ && rest.starts_with(content_); ++i) {
        rest.remove_prefix(content_.size());
      }
      for (std::size_t i = 0; i < stop_ && rest.ends_with(content_); ++i) {
        rest.remove_suffix(content_.size());
      }
      token = std::string(rest);
    }
    return Ok();
  }

 private:
  std::string content_;
  std::size_t start_, stop_;
};

class Replace : public Decoder {
 public:
  Replace(std::unique_ptr<Pattern> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  Status Apply(Tokens& tokens) const override {
    std::vector<Span> matches;
    std::size_t n_bytes = 0;  // of all tokens: many small rules must not fill the memory either
    for (std::string& token : tokens) {
      matches.clear();
      LATTICE_TRY_VOID(pattern_->FindAll(token, matches));
      n_bytes += token.size() + matches.size() * content_.size();
      LATTICE_TRY_VOID(CheckTextSize(n_bytes));
      if (matches.empty()) continue;
      std::string out;
      std::size_t at = 0;
      for (const Span match : matches) {
        out.append(token, at, match.begin - at);
        out += content_;
        at = match.end;
      }
      token = out.append(token, at);
    }
    return Ok();
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  std::string content_;
};

class BpeSuffix : public Decoder {
 public:
  explicit BpeSuffix(std::string suffix) : suffix_(std::move(suffix)) {}
  Status Apply(Tokens& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = ReplaceAll(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
    }
    return Ok();
  }

 private:
  std::string suffix_;
};

Result<std::unique_ptr<Decoder>> MakeSequence(const JsonView& spec) {
  LATTICE_TRY(const JsonView list, spec.Get("decoders"));
  LATTICE_TRY(const std::vector<JsonView> items, list.Array());
  std::vector<std::unique_ptr<Decoder>> steps;
  for (const JsonView& item : items) {
    LATTICE_TRY(auto step, MakeDecoder(item));
    steps.push_back(std::move(step));
  }
  return Make<Sequence>(std::move(steps));
}

Result<std::unique_ptr<Decoder>> MakeStrip(const JsonView& spec) {
  LATTICE_TRY(const std::string content, spec.StringOr("content", " "));
  if (content.empty() || DecodeUtf8(content).n_bytes != content.size()) {
    return spec.Complain("'content' must be one character");
  }
  LATTICE_TRY(const std::int64_t start, spec.IntOr("start", 0, 0, INT32_MAX));
  LATTICE_TRY(const std::int64_t stop, spec.IntOr("stop", 0, 0, INT32_MAX));
  return Make<Strip>(content, static_cast<std::size_t>(start), static_cast<std::size_t>(stop));
}

Result<std::unique_ptr<Decoder>> MakeReplace(const JsonView& spec) {
  LATTICE_TRY(const JsonView pattern_spec, spec.Get("pattern"));
  LATTICE_TRY(auto pattern, MakePattern(pattern_spec));
  LATTICE_TRY(std::string content, spec.StringOr("content", ""));
  return Make<Replace>(std::move(pattern), std::move(content));
}

}  // namespace

Result<std::unique_ptr<Decoder>> MakeDecoder(const JsonView& spec) {
  LATTICE_TRY(const std::string_view type,
              ComponentType(spec, "decoder",
                            {"BPEDecoder", "ByteFallback", "ByteLevel", "Fuse", "Metaspace",
                             "Replace", "Sequence", "Strip", "WordPiece"}));
  if (type == "Sequence") return MakeSequence(spec);
  if (type == "ByteLevel") return Make<ByteLevel>();
  if (type == "ByteFallback") return Make<ByteFallback>();
  if (type == "Fuse") return Make<Fuse>();
  if (type == "Strip") return MakeStrip(spec);
  if (type == "Replace") return MakeReplace(spec);
  if (type == "WordPiece") {
    LATTICE_TRY(std::string prefix, spec.StringOr("prefix", "##"));
    LATTICE_TRY(const bool cleanup, spec.BoolOr("cleanup", true));
    return Make<WordPiece>(std::move(prefix), cleanup);
  }
  if (type == "Metaspace") {
    LATTICE_TRY(std::string replacement, spec.StringOr("replacement", "\u2581"));
    LATTICE_TRY(const PrependScheme scheme, ParsePrependScheme(spec));
    return Make<Metaspace>(std::move(replacement), scheme);
  }
  LATTICE_TRY(std::string suffix, spec.StringOr("suffix", "</w>"));
  return Make<BpeSuffix>(std::move(suffix));
}

}  // namespace lattice::tokenizers
