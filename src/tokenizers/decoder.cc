#include "tokenizers/decoder.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "tokenizers/aligned_text.h"
#include "tokenizers/component.h"
#include "tokenizers/pattern.h"
#include "tokenizers/pre_tokenizer.h"
#include "tokenizers/whole_tokens.h"

namespace lattice::tokenizers {
namespace {

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

  std::unique_ptr<TokenSink> Start(TokenSink& next) const override {
    std::vector<std::unique_ptr<TokenSink>> sinks;
    TokenSink* last = &next;
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      sinks.push_back((*step)->Start(*last));
      last = sinks.back().get();
    }
    return std::make_unique<Chain>(std::move(sinks), *last);
  }
  void ToBytes(std::string& token) const override {
    for (const auto& step : steps_) step->ToBytes(token);
  }

 private:
  class Chain : public TokenSink {
   public:
    Chain(std::vector<std::unique_ptr<TokenSink>> sinks, TokenSink& first)
        : sinks_(std::move(sinks)), first_(first) {}
    Status Text(std::string_view fragment) override { return first_.Text(fragment); }
    Status EndToken() override { return first_.EndToken(); }
    Status Finish() override { return first_.Finish(); }

   private:
    std::vector<std::unique_ptr<TokenSink>> sinks_;
    TokenSink& first_;
  };
  std::vector<std::unique_ptr<Decoder>> steps_;
};

class WordPiece : public Decoder {
 public:
  WordPiece(std::string prefix, bool cleanup) : prefix_(std::move(prefix)), cleanup_(cleanup) {}

  std::unique_ptr<TokenSink> Start(TokenSink& next) const override {
    return std::make_unique<Sink>(*this, next);
  }
  void ToBytes(std::string& token) const override { Rewrite(token, /*first=*/false); }

 private:
  class Sink : public WholeTokens {
   public:
    Sink(const WordPiece& step, TokenSink& next) : WholeTokens(next), step_(step) {}

   protected:
    Status Take(std::string& token) override {
      step_.Rewrite(token, std::exchange(first_, false));
      return PutToken(next_, token);
    }
    Status End() override {
      first_ = true;
      return Ok();
    }

   private:
    const WordPiece& step_;
    bool first_ = true;
  };

  void Rewrite(std::string& token, bool first) const {
    if (!first && token.starts_with(prefix_)) {
      token.erase(0, prefix_.size());
    } else if (!first) {
      token.insert(0, " ");
    }
    if (cleanup_) token = Cleanup(std::move(token));
  }

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

  std::unique_ptr<TokenSink> Start(TokenSink& next) const override {
    return std::make_unique<Sink>(*this, next);
  }
  void ToBytes(std::string& token) const override { token = ReplaceAll(token, replacement_, " "); }

 private:
  class Sink : public WholeTokens {
   public:
    Sink(const Metaspace& step, TokenSink& next) : WholeTokens(next), step_(step) {}

   protected:
    Status Take(std::string& token) override {
      const bool drops = std::exchange(first_, false) && step_.scheme_ != PrependScheme::kNever;
      return PutToken(next_, ReplaceAll(token, step_.replacement_, drops ? "" : " "));
    }
    Status End() override {
      first_ = true;
      return Ok();
    }

   private:
    const Metaspace& step_;
    bool first_ = true;
  };
  std::string replacement_;
  PrependScheme scheme_;
};

class Fuse : public Decoder {
 public:
  std::unique_ptr<TokenSink> Start(TokenSink& next) const override {
    return std::make_unique<Sink>(next);
  }
  void ToBytes(std::string&) const override {}

 private:
  class Sink : public TokenSink {
   public:
    explicit Sink(TokenSink& next) : next_(next) {}
    Status Text(std::string_view fragment) override { return next_.Text(fragment); }
    Status EndToken() override {
      any_ = true;
      return Ok();
    }
    Status Finish() override {
      if (std::exchange(any_, false)) LATTICE_TRY_VOID(next_.EndToken());
      return next_.Finish();
    }

   private:
    TokenSink& next_;
    bool any_ = false;
  };
};

// Takes away up to `start` leading and `stop` trailing copies of a character.
class Strip : public Decoder {
 public:
  Strip(std::string content, std::size_t start, std::size_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}

  std::unique_ptr<TokenSink> Start(TokenSink& next) const override {
    return std::make_unique<Sink>(*this, next);
  }
  void ToBytes(std::string&) const override {}

 private:
  class Sink : public TokenSink {
   public:
    Sink(const Strip& step, TokenSink& next) : step_(step), next_(next), n_to_drop_(step.start_) {}

    Status Text(std::string_view fragment) override {
      const std::string_view content = step_.content_;
      for (; n_to_drop_ > 0 && fragment.starts_with(content); --n_to_drop_) {
        fragment.remove_prefix(content.size());
      }
      if (fragment.empty()) return Ok();
      n_to_drop_ = 0;
      std::size_t n_trailing = 0;
      std::string_view body = fragment;
      for (; body.ends_with(content); ++n_trailing) body.remove_suffix(content.size());
      if (!body.empty()) {
        LATTICE_TRY_VOID(PutHeld(n_held_));
        LATTICE_TRY_VOID(next_.Text(body));
      }
      n_held_ += n_trailing;
      return PutHeld(n_held_ - std::min(n_held_, step_.stop_));
    }
    Status EndToken() override {
      n_held_ = 0;
      n_to_drop_ = step_.start_;
      return next_.EndToken();
    }
    Status Finish() override { return next_.Finish(); }

   private:
    Status PutHeld(std::size_t n) {
      for (std::size_t i = 0; i < n; ++i) LATTICE_TRY_VOID(next_.Text(step_.content_));
      n_held_ -= n;
      return Ok();
    }

    const Strip& step_;
    TokenSink& next_;
    std::size_t n_to_drop_;   // leading copies that may still go
    std::size_t n_held_ = 0;  // copies that may turn out to be the trailing ones
  };
  std::string content_;
  std::size_t start_, stop_;
};

class Replace : public Decoder {
 public:
  Replace(std::unique_ptr<Pattern> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  std::unique_ptr<TokenSink> Start(TokenSink& next) const override {
    return std::make_unique<Sink>(*this, next);
  }
  void ToBytes(std::string& token) const override {
    std::vector<Span> matches;
    if (IsValidUtf8(token) && pattern_->FindAll(token, matches)) token = Rewrite(token, matches);
  }

 private:
  class Sink : public WholeTokens {
   public:
    Sink(const Replace& step, TokenSink& next) : WholeTokens(next), step_(step) {}

   protected:
    Status Take(std::string& token) override {
      matches_.clear();
      LATTICE_TRY_VOID(step_.pattern_->FindAll(token, matches_));
      n_bytes_ += token.size() + matches_.size() * step_.content_.size();
      LATTICE_TRY_VOID(CheckTextSize(n_bytes_));
      return PutToken(next_, matches_.empty() ? token : step_.Rewrite(token, matches_));
    }
    Status End() override {
      n_bytes_ = 0;
      return Ok();
    }

   private:
    const Replace& step_;
    std::vector<Span> matches_;
    std::size_t n_bytes_ = 0;  // of all tokens: many small rules must not fill the memory either
  };

  std::string Rewrite(std::string_view token, const std::vector<Span>& matches) const {
    std::string out;
    std::size_t at = 0;
    for (const Span match : matches) {
      out += token.substr(at, match.begin - at);
      out += content_;
      at = match.end;
    }
    return out += token.substr(at);
  }

  std::unique_ptr<Pattern> pattern_;
  std::string content_;
};

// The suffix ends a word, so it is a space everywhere but after the last token.
class BpeSuffix : public Decoder {
 public:
  explicit BpeSuffix(std::string suffix) : suffix_(std::move(suffix)) {}

  std::unique_ptr<TokenSink> Start(TokenSink& next) const override {
    return std::make_unique<Sink>(*this, next);
  }
  void ToBytes(std::string& token) const override { token = ReplaceAll(token, suffix_, " "); }

 private:
  class Sink : public WholeTokens {
   public:
    Sink(const BpeSuffix& step, TokenSink& next) : WholeTokens(next), step_(step) {}

   protected:
    Status Take(std::string& token) override {
      if (any_) LATTICE_TRY_VOID(PutToken(next_, ReplaceAll(last_, step_.suffix_, " ")));
      last_.swap(token);
      any_ = true;
      return Ok();
    }
    Status End() override {
      if (!std::exchange(any_, false)) return Ok();
      return PutToken(next_, ReplaceAll(last_, step_.suffix_, ""));
    }

   private:
    const BpeSuffix& step_;
    std::string last_;
    bool any_ = false;
  };
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
  if (type == "ByteLevel") return MakeByteLevelDecoder();
  if (type == "ByteFallback") return MakeByteFallbackDecoder();
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
