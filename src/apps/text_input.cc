#include "apps/text_input.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/json.h"
#include "base/mapped_file.h"

namespace lattice::apps {
namespace {

// What Next gives at once, but for one line that is longer by itself.
constexpr std::size_t kNextBytes = std::size_t{16} << 20;
// A text of more than this is a mistake (a file without line ends) rather than a text.
constexpr std::size_t kMaxLineBytes = std::size_t{256} << 20;

struct FileCloser {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};

std::size_t CountLines(const std::string& path) {
  const Result<MappedFile> file = MappedFile::Open(path);
  if (!file) return 0;  // A pipe: unknown.
  std::size_t n = 0;
  const auto bytes = file->bytes();
  const char* at = reinterpret_cast<const char*>(bytes.data());
  const char* const end = at + bytes.size();
  while (at != end) {
    const void* found = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
    ++n;
    if (found == nullptr) break;
    at = static_cast<const char*>(found) + 1;
  }
  return n;
}

}  // namespace

void DeclareTexts(CLI::App& arguments, std::vector<std::string>& texts, std::string& input) {
  arguments.add_option("TEXT", texts, "Texts; none: --input, or the lines of standard input");
  arguments
      .add_option("-i,--input", input,
                  "A text a line; .jsonl: {\"text\": ...} a line; -: standard input")
      ->type_name("FILE");
}

struct TextInput::State {
  std::vector<std::string> texts;  // the arguments, when there are any
  std::size_t next_text = 0;
  std::unique_ptr<std::FILE, FileCloser> file;
  std::string name;
  bool jsonl = false;
  std::size_t total = 0;
  std::size_t line = 0;
  std::array<char, 1 << 16> buffer;
  std::size_t begin = 0, end = 0;

  // One line without its end; nothing at the end of the file.
  Result<std::optional<std::string>> ReadLine();
  Result<std::string> Parse(std::string line_text) const;
};

Result<std::optional<std::string>> TextInput::State::ReadLine() {
  std::string text;
  while (true) {
    if (begin == end) {
      begin = 0;
      end = std::fread(buffer.data(), 1, buffer.size(), file.get());
      if (end == 0) {
        if (std::ferror(file.get()) != 0) {
          return Error{ErrorCode::kInvalidArgument, "cannot read " + name};
        }
        if (text.empty()) return std::optional<std::string>();
        break;
      }
    }
    const char* from = buffer.data() + begin;
    const void* found = std::memchr(from, '\n', end - begin);
    const std::size_t n = found == nullptr
                              ? end - begin
                              : static_cast<std::size_t>(static_cast<const char*>(found) - from);
    if (text.size() + n > kMaxLineBytes) {
      return Error{ErrorCode::kResourceExhausted, name + " line " + std::to_string(line + 1) +
                                                      ": longer than " +
                                                      std::to_string(kMaxLineBytes) + " bytes"};
    }
    text.append(from, n);
    begin += n;
    if (found != nullptr) {
      ++begin;
      break;
    }
  }
  ++line;
  if (text.ends_with('\r')) text.pop_back();
  return std::optional<std::string>(std::move(text));
}

Result<std::string> TextInput::State::Parse(std::string line_text) const {
  if (!jsonl) return line_text;
  const std::string where = name + " line " + std::to_string(line);
  Result<boost::json::value> value = ParseJson(line_text);
  if (!value) return std::move(value).error().Within(where);
  const JsonView root(*value, where);
  if (root.IsString()) {
    LATTICE_TRY(const std::string_view text, root.String());
    return std::string(text);
  }
  LATTICE_TRY(const JsonView member, root.Get("text"));
  LATTICE_TRY(const std::string_view text, member.String());
  return std::string(text);
}

TextInput::TextInput(std::unique_ptr<State> state) : state_(std::move(state)) {}
TextInput::TextInput(TextInput&&) noexcept = default;
TextInput& TextInput::operator=(TextInput&&) noexcept = default;
TextInput::~TextInput() = default;

Result<TextInput> TextInput::Open(std::vector<std::string> texts, const std::string& file) {
  auto state = std::make_unique<State>();
  if (!texts.empty()) {
    if (!file.empty()) {
      return Error{ErrorCode::kInvalidArgument, "give texts or --input, not both"};
    }
    state->total = texts.size();
    state->texts = std::move(texts);
    return TextInput(std::move(state));
  }
  if (file.empty() || file == "-") {
    state->name = "standard input";
    state->file.reset(stdin);
    return TextInput(std::move(state));
  }
  state->name = file;
  state->jsonl = file.ends_with(".jsonl");
  state->file.reset(std::fopen(file.c_str(), "rbe"));
  if (state->file == nullptr) {
    return Error{ErrorCode::kNotFound, "cannot open " + file + ": " + std::strerror(errno)};
  }
  state->total = CountLines(file);
  return TextInput(std::move(state));
}

Result<std::vector<std::string>> TextInput::Next(std::size_t max_texts) {
  std::vector<std::string> texts;
  if (state_->file == nullptr) {
    while (texts.size() < max_texts && state_->next_text < state_->texts.size()) {
      texts.push_back(std::move(state_->texts[state_->next_text++]));
    }
    return texts;
  }
  std::size_t n_bytes = 0;
  while (texts.size() < max_texts && n_bytes < kNextBytes) {
    LATTICE_TRY(std::optional<std::string> line, state_->ReadLine());
    if (!line) break;
    if (state_->jsonl && line->empty()) continue;
    LATTICE_TRY(std::string text, state_->Parse(*std::move(line)));
    n_bytes += text.size();
    texts.push_back(std::move(text));
  }
  return texts;
}

Result<std::vector<std::string>> TextInput::All(std::size_t max_bytes) {
  std::vector<std::string> texts;
  std::size_t n_bytes = 0;
  while (true) {
    LATTICE_TRY(std::vector<std::string> some, Next(1024));
    if (some.empty()) return texts;
    for (std::string& text : some) {
      n_bytes += text.size();
      if (n_bytes > max_bytes) {
        return Error{ErrorCode::kResourceExhausted,
                     "the input is longer than " + std::to_string(max_bytes) + " bytes"};
      }
      texts.push_back(std::move(text));
    }
  }
}

bool TextInput::is_jsonl() const { return state_->jsonl; }
std::size_t TextInput::total() const { return state_->total; }

}  // namespace lattice::apps
