#include "apps/line_editor.h"

#include <histedit.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "apps/text_input.h"

namespace lattice::apps {
namespace {

constexpr int kHistoryLines = 1000;

}  // namespace

struct LineEditor::State {
  std::string history_file;
  std::string prompt;
  EditLine* editor = nullptr;  // null: no terminal
  ::History* history = nullptr;
  bool interrupted = false;
  std::optional<TextInput> lines;

  static const char* Prompt(EditLine* editor) {
    State* state = nullptr;
    el_get(editor, EL_CLIENTDATA, &state);
    return state->prompt.c_str();
  }

  static unsigned char Interrupt(EditLine* editor, int) {
    State* state = nullptr;
    el_get(editor, EL_CLIENTDATA, &state);
    state->interrupted = true;
    std::fputs("^C\n", stdout);
    return CC_NEWLINE;
  }

  void Open() {
    editor = el_init("lattice", stdin, stdout, stderr);
    if (editor == nullptr) return;
    history = history_init();
    if (history != nullptr) {
      LoadHistory();
      el_set(editor, EL_HIST, ::history, history);
    }
    el_set(editor, EL_CLIENTDATA, this);
    el_set(editor, EL_PROMPT, &State::Prompt);
    el_set(editor, EL_EDITOR, "emacs");
    el_set(editor, EL_ADDFN, "lattice-interrupt", "Give up this line", &State::Interrupt);
    el_set(editor, EL_SETTY, "-d", "-isig", nullptr);  // Ctrl-C is a key while a line is typed
    el_set(editor, EL_BIND, "^C", "lattice-interrupt", nullptr);
  }

  void LoadHistory() {
    HistEvent event;
    ::history(history, &event, H_SETSIZE, kHistoryLines);
    ::history(history, &event, H_SETUNIQUE, 1);
    if (!history_file.empty()) ::history(history, &event, H_LOAD, history_file.c_str());
  }

  std::optional<std::string> ReadTerminal() {
    interrupted = false;
    int length = 0;
    const char* text = el_gets(editor, &length);
    if (interrupted) return "";
    if (text == nullptr || length <= 0) return std::nullopt;
    std::string line(text, static_cast<std::size_t>(length));
    if (line.ends_with('\n')) line.pop_back();
    return line;
  }

  void Remember(const std::string& line) {
    if (history == nullptr || line.empty()) return;
    HistEvent event;
    ::history(history, &event, H_ENTER, line.c_str());
  }
};

LineEditor::LineEditor(const std::string& history_file) : state_(std::make_unique<State>()) {
  state_->history_file = history_file;
  if (isatty(STDIN_FILENO) == 1) state_->Open();
}

LineEditor::~LineEditor() {
  if (state_->history != nullptr) {
    HistEvent event;
    if (!state_->history_file.empty()) {
      history(state_->history, &event, H_SAVE, state_->history_file.c_str());
    }
    history_end(state_->history);
  }
  if (state_->editor != nullptr) el_end(state_->editor);
}

bool LineEditor::is_terminal() const { return state_->editor != nullptr; }

Result<std::optional<std::string>> LineEditor::Read(const std::string& prompt) {
  if (!is_terminal()) {
    if (!state_->lines) {
      LATTICE_TRY(state_->lines, TextInput::Open({}, "-"));
    }
    LATTICE_TRY(std::vector<std::string> next, state_->lines->Next(1));
    if (next.empty()) return std::optional<std::string>();
    return std::optional(std::move(next[0]));
  }
  state_->prompt = prompt;
  std::string whole;
  while (true) {
    std::optional<std::string> line = state_->ReadTerminal();
    if (!line) return line;
    if (state_->interrupted) return std::optional<std::string>("");
    const bool goes_on = line->ends_with('\\');
    if (goes_on) line->back() = '\n';
    whole += *line;
    if (!goes_on) break;
    state_->prompt = "... ";
  }
  state_->Remember(whole);
  return std::optional(std::move(whole));
}

}  // namespace lattice::apps
