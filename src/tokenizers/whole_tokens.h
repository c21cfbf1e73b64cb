#pragma once

#include <string>
#include <string_view>

#include "lattice/result.h"
#include "tokenizers/decoder.h"

namespace lattice::tokenizers {

inline Status PutToken(TokenSink& sink, std::string_view token) {
  LATTICE_TRY_VOID(sink.Text(token));
  return sink.EndToken();
}

/// For steps that look at whole tokens, one after the other.
class WholeTokens : public TokenSink {
 public:
  explicit WholeTokens(TokenSink& next) : next_(next) {}
  Status Text(std::string_view fragment) override {
    token_ += fragment;
    return Ok();
  }
  Status EndToken() override {
    LATTICE_TRY_VOID(Take(token_));
    token_.clear();
    return Ok();
  }
  Status Finish() override {
    LATTICE_TRY_VOID(End());
    return next_.Finish();
  }

 protected:
  // May change the token's text, which is thrown away afterwards.
  virtual Status Take(std::string& token) = 0;
  virtual Status End() = 0;
  TokenSink& next_;

 private:
  std::string token_;
};

}  // namespace lattice::tokenizers
