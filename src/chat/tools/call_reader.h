#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/tools/call_form.h"
#include "chat/tools/offered_tools.h"

namespace lattice::chat {

/// A call as a model wrote it: `arguments` is the text of a JSON object.
struct WrittenCall {
  std::string name;
  std::string arguments;
};

/// Reads what a model writes behind the text that begins a call, byte by byte.
class CallReader {
 public:
  enum class State {
    kMore,
    kDone,  ///< The byte was the last of one call, or of a list of them.
    kBad,   ///< The byte cannot belong to a call, or what it ends is none.
  };

  virtual ~CallReader() = default;

  /// Takes the next byte. Not after kDone or kBad.
  virtual State Take(char c) = 0;
  /// After kDone: the calls, at least one.
  virtual std::vector<WrittenCall> TakeCalls() = 0;
};

/// A text that may begin a call.
struct CallOpener {
  std::string_view text;
  bool is_part = false;        ///< It goes to the reader, too.
  bool only_at_start = false;  ///< Of the answer: before it there are only calls and space.
};

/// All that a CallParser must know of a form.
struct CallGrammar {
  std::vector<CallOpener> openers;
  std::string_view closer;  ///< May stand behind a call, and is dropped then; empty: nothing.
  std::unique_ptr<CallReader> (*make_reader)(const OfferedTools& tools);
};
CallGrammar HermesGrammar();
CallGrammar XmlGrammar();
CallGrammar LlamaGrammar();
CallGrammar GemmaGrammar();
CallGrammar MistralGrammar();
CallGrammar GrammarOf(CallForm form);

/// Letters, digits and "_-.:/", 1 to 128 of them.
bool IsCallName(std::string_view name);

}  // namespace lattice::chat
