#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chat/tools/call_reader.h"
#include "chat/tools/offered_tools.h"

namespace lattice::chat {

/// A piece of an answer: some of its text, or a whole call.
struct AnswerPiece {
  std::string text;       ///< Empty for a call.
  WrittenCall call = {};  ///< Of a text: without name.
  bool is_call() const { return !call.name.empty(); }
};

/// Finds calls of tools in generated text while it comes. A call is given out when it is complete:
/// with its name and its arguments as a JSON object. What begins like one and is none is text, to
/// the letter. Space beside a call is dropped, unless text stands on both sides. Whatever pieces
/// the text comes in, what it consists of is the same in the end.
class CallParser {
 public:
  CallParser(CallForm form, std::shared_ptr<const OfferedTools> tools);

  /// What has become certain by this piece; the rest is held back. Texts that follow each other are
  /// joined.
  std::vector<AnswerPiece> Push(std::string_view piece);
  /// What was held back; a call that never became whole is text.
  std::vector<AnswerPiece> Finish();

 private:
  using Pieces = std::vector<AnswerPiece>;
  void Take(char c, Pieces& out);
  void TakeText(char c, Pieces& out);
  void TakeInCall(char c, Pieces& out);
  bool TakeAfterCall(char c);
  void Begin(const CallOpener& opener, Pieces& out);
  void GiveText(std::string_view text, Pieces& out);

  CallGrammar grammar_;
  std::shared_ptr<const OfferedTools> tools_;
  std::unique_ptr<CallReader> reader_;  // of the call under way
  std::string held_;                    // may become an opener, or a closer
  std::string raw_;                     // of the call under way
  std::string space_;                   // behind what was given out last
  std::size_t n_space_ = 0;             // of it, before the last call
  bool any_text_ = false, any_call_ = false;
  bool after_call_ = false;  // nothing but space and calls since a call
  bool may_close_ = false;   // a closer may come
};

}  // namespace lattice::chat
