#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "tokenizers/byte_spelling.h"
#include "tokenizers/byte_token.h"
#include "tokenizers/decoder.h"
#include "tokenizers/utf8_assembler.h"
#include "tokenizers/whole_tokens.h"

namespace lattice::tokenizers {
namespace {

constexpr std::string_view kReplacement = "\uFFFD";

// All tokens become one.
class ByteLevel : public Decoder {
 public:
  std::unique_ptr<TokenSink> Start(TokenSink& next) const override {
    return std::make_unique<Sink>(next);
  }
  void ToBytes(std::string& token) const override {
    if (auto spelled = BytesFromAlphabet(token)) token = *std::move(spelled);
  }

 private:
  class Sink : public WholeTokens {
   public:
    using WholeTokens::WholeTokens;

   protected:
    Status Take(std::string& token) override {
      const auto spelled = BytesFromAlphabet(token);
      text_.clear();
      assembler_.Push(spelled ? *spelled : token, text_);
      any_ = true;
      return text_.empty() ? Ok() : next_.Text(text_);
    }
    Status End() override {
      if (!std::exchange(any_, false)) return Ok();
      text_.clear();
      assembler_.Finish(text_);
      return PutToken(next_, text_);
    }

   private:
    Utf8Assembler assembler_;
    std::string text_;
    bool any_ = false;
  };
};

// A run of byte tokens is one token if it is valid as a whole, else one U+FFFD for each of them: so
// nothing of a run that is good so far can be put out before its end.
class ByteFallback : public Decoder {
 public:
  std::unique_ptr<TokenSink> Start(TokenSink& next) const override {
    return std::make_unique<Sink>(next);
  }
  void ToBytes(std::string& token) const override {
    if (const auto byte = ByteOfTokenName(token)) token.assign(1, static_cast<char>(*byte));
  }

 private:
  class Sink : public WholeTokens {
   public:
    using WholeTokens::WholeTokens;

   protected:
    Status Take(std::string& token) override {
      if (const auto byte = ByteOfTokenName(token)) return AddByte(static_cast<char>(*byte));
      LATTICE_TRY_VOID(EndRun());
      return PutToken(next_, token);
    }
    Status End() override { return EndRun(); }

   private:
    Status AddByte(char byte) {
      run_ += byte;
      while (!broken_ && n_valid_ < run_.size()) {
        const std::string_view rest = std::string_view(run_).substr(n_valid_);
        const Utf8Step step = DecodeUtf8(rest);
        if (step.valid) {
          n_valid_ += step.n_bytes;
        } else if (CompleteUtf8Length(rest) == 0) {
          break;
        } else {
          broken_ = true;
        }
      }
      return broken_ ? PutBroken() : Ok();
    }
    Status EndRun() {
      if (!broken_ && n_valid_ == run_.size() && !run_.empty()) {
        LATTICE_TRY_VOID(PutToken(next_, run_));
        run_.clear();
      }
      LATTICE_TRY_VOID(PutBroken());
      broken_ = false;
      return Ok();
    }
    Status PutBroken() {
      for (std::size_t i = 0; i < run_.size(); ++i) {
        LATTICE_TRY_VOID(PutToken(next_, kReplacement));
      }
      run_.clear();
      n_valid_ = 0;
      return Ok();
    }

    std::string run_;
    std::size_t n_valid_ = 0;  // of its first bytes
    bool broken_ = false;
  };
};

}  // namespace

std::unique_ptr<Decoder> MakeByteLevelDecoder() { return std::make_unique<ByteLevel>(); }
std::unique_ptr<Decoder> MakeByteFallbackDecoder() { return std::make_unique<ByteFallback>(); }

}  // namespace lattice::tokenizers
