#include <utility>

#include "chat/tools/call_reader.h"
#include "chat/tools/json_call.h"
#include "chat/tools/typed_value.h"

namespace lattice::chat {
namespace {

constexpr std::string_view kBegin = "call:", kQuote = "<|\"|>";
constexpr std::size_t kMaxNameBytes = 128, kMaxDepth = 32;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// call:NAME{key:VALUE,...}, where a value is <|"|>text<|"|>, an object, an array, or what JSON
/// calls a number or literal. It is turned into JSON as it comes.
class GemmaReader final : public CallReader {
 public:
  State Take(char c) override {
    if (part_ == Part::kCall) {
      if (head_.empty() && IsSpace(c)) return State::kMore;
      head_ += c;
      if (head_ == kBegin) part_ = Part::kName;
      return kBegin.starts_with(head_) ? State::kMore : State::kBad;
    }
    if (part_ == Part::kName) {
      if (c != '{') {
        name_ += c;
        return name_.size() > kMaxNameBytes ? State::kBad : State::kMore;
      }
      part_ = Part::kValue;
      if (!IsCallName(name_)) return State::kBad;
    }
    if (part_ == Part::kText) return TakeText(c);
    return TakeValue(c);
  }

  std::vector<WrittenCall> TakeCalls() override { return {{std::move(name_), std::move(json_)}}; }

 private:
  enum class Part { kCall, kName, kValue, kText };

  State TakeText(char c) {
    word_ += c;
    if (!word_.ends_with(kQuote)) return State::kMore;
    word_.resize(word_.size() - kQuote.size());
    json_ += JsonQuoted(std::exchange(word_, {}));
    part_ = Part::kValue;
    after_text_ = true;
    return State::kMore;
  }

  /// Between texts: brackets, commas and colons end a bare word.
  State TakeValue(char c) {
    if (c != '{' && c != '}' && c != '[' && c != ']' && c != ',' && c != ':') {
      return TakeWord(c);
    }
    if (!EndWord(c)) return State::kBad;
    if (c == '{' || c == '[') {
      if (open_.size() == kMaxDepth) return State::kBad;
      open_ += c == '{' ? '}' : ']';
    } else if (c == '}' || c == ']') {
      if (open_.empty() || open_.back() != c) return State::kBad;
      open_.pop_back();
    }
    json_ += c;
    if (!open_.empty()) return State::kMore;
    return IsJsonObject(json_) ? State::kDone : State::kBad;
  }

  State TakeWord(char c) {
    if (after_text_) return IsSpace(c) ? State::kMore : State::kBad;
    word_ += c;
    if (word_.ends_with(kQuote)) {
      const std::string_view before =
          std::string_view(word_).substr(0, word_.size() - kQuote.size());
      if (before.find_first_not_of(" \t\r\n") != before.npos) return State::kBad;
      word_.clear();
      part_ = Part::kText;
    }
    return word_.size() > kMaxWordBytes ? State::kBad : State::kMore;
  }

  /// Writes a word that ends before `next`: a key before a colon, else a value.
  bool EndWord(char next) {
    if (std::exchange(after_text_, false)) return next != '{' && next != '[';
    const std::string word = std::exchange(word_, {});
    const std::size_t begin = word.find_first_not_of(" \t\r\n");
    if (begin == word.npos) return true;  // The JSON as a whole is checked at its end.
    const std::string bare = word.substr(begin, word.find_last_not_of(" \t\r\n") + 1 - begin);
    json_ += next == ':' ? JsonQuoted(bare) : TypedValue(bare, {}, nullptr);
    return next != '{' && next != '[';
  }

  static constexpr std::size_t kMaxWordBytes = 4096;

  Part part_ = Part::kCall;
  std::string head_, name_, word_, json_;
  std::string open_;  // the brackets that will close
  bool after_text_ = false;
};

}  // namespace

CallGrammar GemmaGrammar() {
  return {{{.text = "<|tool_call>"}},
          "<tool_call|>",
          [](const OfferedTools&) -> std::unique_ptr<CallReader> {
            return std::make_unique<GemmaReader>();
          }};
}

}  // namespace lattice::chat
