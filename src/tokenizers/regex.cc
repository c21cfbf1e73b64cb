#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokenizers/regex.h"

#include <pcre2.h>

#include <utility>

#include "base/utf8.h"

namespace lattice::tokenizers {
namespace {

// Steps that a search may take at each place of a text, and what all places together may take
// beyond that: PCRE2's own limit starts anew at each, so it alone lets n of them take n^2 steps.
// The heap limit bounds backtracking in place of the machine stack, which PCRE2's interpreter does
// not use for it.
constexpr std::uint32_t kStepsAtAPlace = 1'000;
constexpr std::uint32_t kMoreSteps = 100'000'000;  // about a second
constexpr std::uint32_t kHeapLimitKibibytes = 64 * 1024;
constexpr std::size_t kMaxExpressionBytes = 64 * 1024;

// Insides of a class: letters by use, marks, digits and connectors, and of Latin-1 the superscript
// digits and fractions too; property White_Space.
constexpr std::string_view kWordSet =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})"
    R"(\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189})";
constexpr std::string_view kSpaceSet = R"(\t-\r\x{85}\p{Z})";
constexpr std::string_view kHexSet = "0-9A-Fa-f";

// Rewrites what Oniguruma and PCRE2 spell alike but read differently.
class Translator {
 public:
  explicit Translator(std::string_view in) : in_(in) {}

  Result<std::string> Run() {
    while (at_ < in_.size()) {
      const char c = in_[at_];
      if (c == '\\') {
        LATTICE_TRY_VOID(Escape());
      } else if (in_class_) {
        LATTICE_TRY_VOID(InClass(c));
      } else {
        Outside(c);
      }
    }
    return std::move(out_);
  }

 private:
  void Copy(std::size_t n) {
    out_ += in_.substr(at_, n);
    at_ += n;
  }

  Status Escape() {
    const std::string_view escape = in_.substr(at_, 2);
    at_ += escape.size();
    const std::string_view set = escape == "\\w" || escape == "\\W"   ? kWordSet
                                 : escape == "\\s" || escape == "\\S" ? kSpaceSet
                                 : escape == "\\h" || escape == "\\H" ? kHexSet
                                                                      : "";
    const bool negated = !set.empty() && escape[1] < 'a';
    if (escape == "\\u" && at_ + 4 <= in_.size()) {
      out_ += "\\x{" + std::string(in_.substr(at_, 4)) + "}";
      at_ += 4;
      return Ok();
    }
    // Inside a class the negation of a set has no spelling; of \S the two readings differ by one
    // code point (U+180E) only.
    if (set.empty() || (in_class_ && escape == "\\S")) {
      out_ += escape;
      return Ok();
    }
    if (in_class_ && negated) return Unsupported(std::string(escape) + " inside a class");
    if (!in_class_) out_ += negated ? "[^" : "[";
    out_ += set;
    if (!in_class_) out_ += "]";
    return Ok();
  }

  Status InClass(char c) {
    if (c == '[') {
      const std::size_t close = in_.find(":]", at_ + 2);
      if (!in_.substr(at_).starts_with("[:") || close == std::string_view::npos) {
        return Unsupported("a class inside a class");
      }
      Copy(close + 2 - at_);
      return Ok();
    }
    if (in_.substr(at_).starts_with("&&")) return Unsupported("&& inside a class");
    if (c == ']' && at_ != first_in_class_) in_class_ = false;
    Copy(1);
    return Ok();
  }

  void Outside(char c) {
    if (c == '[') {
      in_class_ = true;
      Copy(1);
      if (at_ < in_.size() && in_[at_] == '^') Copy(1);
      first_in_class_ = at_;
    } else if (in_.substr(at_).starts_with("{,")) {
      out_ += "{0,";
      at_ += 2;
    } else {
      Copy(1);
    }
  }

  Error Unsupported(const std::string& what) const {
    return Error{ErrorCode::kUnsupported,
                 "regular expression \"" + std::string(in_) + "\": " + what + " is not supported"};
  }

  std::string_view in_;
  std::string out_;
  std::size_t at_ = 0;
  std::size_t first_in_class_ = 0;
  bool in_class_ = false;
};

struct FreeContext {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};
struct FreeData {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

// Finds the matches of one text.
class Search {
 public:
  Search(const pcre2_code* code, std::string_view text)
      : code_(code),
        text_(text),
        context_(pcre2_match_context_create(nullptr)),
        data_(pcre2_match_data_create_from_pattern(code, nullptr)) {
    if (context_ != nullptr) pcre2_set_heap_limit(context_.get(), kHeapLimitKibibytes);
  }
  bool has_memory() const { return context_ != nullptr && data_ != nullptr; }

  // The next match at or after `from`: what pcre2_match returns.
  int Next(std::size_t from) {
    const int n = Try(from, 0, kStepsAtAPlace);
    return n == PCRE2_ERROR_MATCHLIMIT ? Walk(from) : n;
  }
  Span match() const {
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(data_.get());
    return {static_cast<std::uint32_t>(bounds[0]), static_cast<std::uint32_t>(bounds[1])};
  }
  std::size_t NextPlace(std::size_t at) const {
    return at + (at < text_.size() ? DecodeUtf8(text_.substr(at)).n_bytes : 1);
  }

 private:
  int Try(std::size_t from, std::uint32_t options, std::uint32_t limit) {
    pcre2_set_match_limit(context_.get(), limit);
    return pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), from,
                       PCRE2_NO_UTF_CHECK | options, data_.get(), context_.get());
  }

  // Place by place, so that what one takes beyond its share is known.
  int Walk(std::size_t from) {
    for (std::size_t at = from; at <= text_.size(); at = NextPlace(at)) {
      int n = Try(at, PCRE2_ANCHORED, kStepsAtAPlace);
      for (std::uint32_t limit = 2 * kStepsAtAPlace;
           n == PCRE2_ERROR_MATCHLIMIT && limit <= more_steps_; limit *= 2) {
        more_steps_ -= limit;
        n = Try(at, PCRE2_ANCHORED, limit);
      }
      if (n != PCRE2_ERROR_NOMATCH) return n;
    }
    return PCRE2_ERROR_NOMATCH;
  }

  const pcre2_code* code_;
  std::string_view text_;
  std::unique_ptr<pcre2_match_context, FreeContext> context_;
  std::unique_ptr<pcre2_match_data, FreeData> data_;
  std::uint32_t more_steps_ = kMoreSteps;
};

std::string MessageOf(int code) {
  unsigned char buffer[256] = {};
  pcre2_get_error_message(code, buffer, sizeof(buffer));
  return reinterpret_cast<const char*>(buffer);
}

}  // namespace

struct Regex::Code {
  ~Code() { pcre2_code_free(code); }
  pcre2_code* code = nullptr;
  std::string expression;
};

Regex::Regex(std::unique_ptr<Code> code) : code_(std::move(code)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Result<Regex> Regex::Compile(std::string_view expression) {
  if (expression.size() > kMaxExpressionBytes) {
    return Error{
        ErrorCode::kUnsupported,
        "regular expression of " + std::to_string(expression.size()) + " bytes; the most is 65536"};
  }
  LATTICE_TRY(const std::string translated, Translator(expression).Run());
  auto code = std::make_unique<Code>();
  code->expression = expression;
  int error = 0;
  PCRE2_SIZE where = 0;
  // Ruby's ^ and $ always mean lines. Backslash-C could cut a code point in two.
  code->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                             PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                             &error, &where, nullptr);
  if (code->code == nullptr) {
    return Error{ErrorCode::kCorruptData, "regular expression \"" + std::string(expression) +
                                              "\": " + MessageOf(error) + " at byte " +
                                              std::to_string(where)};
  }
  return Regex(std::move(code));
}

Status Regex::FindAll(std::string_view text, std::vector<Span>& out) const {
  Search search(code_->code, text);
  if (!search.has_memory()) {
    return Error{ErrorCode::kResourceExhausted, "no memory for a regular expression"};
  }
  std::size_t from = 0;
  std::size_t last_end = text.size() + 1;  // no match yet
  while (from <= text.size()) {
    const int n = search.Next(from);
    if (n == PCRE2_ERROR_NOMATCH) break;
    if (n < 0) {
      return Error{ErrorCode::kInvalidArgument, "regular expression \"" + code_->expression +
                                                    "\" on this text: " + MessageOf(n)};
    }
    const auto [begin, end] = search.match();
    if (end < begin || (begin == end && end == last_end)) {
      from = search.NextPlace(from);
      continue;
    }
    out.push_back({begin, end});
    from = last_end = end;
  }
  return Ok();
}

}  // namespace lattice::tokenizers
