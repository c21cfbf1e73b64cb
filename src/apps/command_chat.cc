#include "apps/command_chat.h"

#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "apps/chat_opening.h"
#include "apps/chat_printer.h"
#include "apps/chat_session.h"
#include "apps/chat_settings.h"
#include "apps/generation_flags.h"
#include "apps/generation_json.h"
#include "apps/interrupt.h"
#include "apps/line_editor.h"
#include "apps/number_flags.h"
#include "apps/text_input.h"

namespace lattice::apps {
namespace {

constexpr std::size_t kMaxPipedBytes = std::size_t{64} << 20;

constexpr std::string_view kHelp = R"(/help            this list
/system [TEXT]   show or replace the system message (empty: none)
/reset           forget the conversation
/undo            take back your last message and its answer
/retry           answer your last message again
/save FILE       write the conversation, and what the model has read of it
/load FILE       go on with a saved one
/set [NAME V]    show all, or change: temperature, top-p and the other flags of sampling,
                 seed, max-tokens, thinking (on, off, auto or a number of tokens)
/stats           speed and size of the last answer
/model [MODEL]   which model this is, or go on with another one
/exit            leave (or Ctrl-D)
A line that ends with \ goes on in the next one. Ctrl-C stops an answer.
)";

struct Arguments {
  ChatFlags chat;
  std::string prompt;
  bool json = false;
};

/// The conversation with the person, or the program, at the other end.
class Chat {
 public:
  Chat(OpenedChat opened, const Arguments& arguments, const AppContext& context)
      : opened_(std::move(opened)),
        arguments_(arguments),
        context_(context),
        printer_(isatty(STDOUT_FILENO) == 1) {}

  Status Run() {
    LATTICE_TRY_VOID(SayReady());
    return arguments_.prompt.empty() ? RunLines() : RunPrompt();
  }

 private:
  ChatSession& session() { return *opened_.session; }
  Status RunPrompt();
  Status RunLines();
  Status SayReady();
  template <typename Make>
  Status Answer(Make make);
  Status Event(const boost::json::object& event) {
    return Print(boost::json::serialize(event) + "\n");
  }
  Status ShowDelta(const ChatDelta& delta);
  Status ShowEnd(const ChatTurn& turn);
  Status Command(std::string_view line, bool& leave);
  Status FileCommand(std::string_view name, const std::string& file);
  Status SettingCommand(std::string_view rest);
  Status ModelCommand(const std::string& model);
  Status Say(std::string_view text);
  Status Ask(const std::string& text);

  OpenedChat opened_;
  const Arguments& arguments_;
  const AppContext& context_;
  ChatPrinter printer_;
  std::optional<ChatTurn> last_;
  std::map<std::string, std::string, std::less<>> settings_;  // made by /set, but for thinking
};

/// What the program itself says; no part of an answer.
Status Chat::Say(std::string_view text) {
  if (!context_.quiet) std::fprintf(stderr, "%.*s", static_cast<int>(text.size()), text.data());
  return Ok();
}

/// At the beginning, and when another model takes over.
Status Chat::SayReady() {
  if (arguments_.json) {
    return Event({{"event", "ready"},
                  {"model", session().model_name()},
                  {"context", session().n_context()}});
  }
  if (isatty(STDIN_FILENO) != 1 || !arguments_.prompt.empty()) return Ok();
  return Say(session().model_name() + ", a context of " + std::to_string(session().n_context()) +
             " tokens\n");
}

Status Chat::ShowDelta(const ChatDelta& delta) {
  if (!arguments_.json) return printer_.Show(delta);
  if (!delta.reasoning.empty()) {
    LATTICE_TRY_VOID(Event({{"event", "token"}, {"reasoning", delta.reasoning}}));
  }
  return delta.text.empty() ? Ok() : Event({{"event", "token"}, {"text", delta.text}});
}

Status Chat::ShowEnd(const ChatTurn& turn) {
  if (arguments_.json) {
    boost::json::object done = {{"event", "done"},
                                {"text", turn.text},
                                {"finish_reason", engine::FinishReasonName(turn.finish)},
                                {"usage", UsageJson(turn.usage)},
                                {"seed", session().generation().sampling.seed}};
    if (!turn.reasoning.empty()) done["reasoning"] = turn.reasoning;
    return Event(std::move(done));
  }
  LATTICE_TRY_VOID(printer_.Finish());
  if (turn.finish == engine::FinishReason::kLength) return Say("(cut at --max-tokens)\n");
  if (turn.finish == engine::FinishReason::kContext) return Say("(the context is full)\n");
  return Ok();
}

template <typename Make>
Status Chat::Answer(Make make) {
  const InterruptWatcher::Scope scope(*context_.interrupts);
  const auto show = [&](const ChatDelta& delta) { return ShowDelta(delta); };
  Result<ChatTurn> turn = make(scope.token(), ChatSink(show));
  if (!turn) {
    LATTICE_TRY_VOID(printer_.Finish());
    return std::move(turn).error();
  }
  LATTICE_TRY_VOID(ShowEnd(*turn));
  last_ = std::move(turn).value();
  return Ok();
}

Status Chat::Ask(const std::string& text) {
  return Answer(
      [&](const std::stop_token& stop, ChatSink sink) { return session().Ask(text, stop, sink); });
}

Status Chat::RunPrompt() {
  std::string prompt = arguments_.prompt;
  if (isatty(STDIN_FILENO) != 1) {
    LATTICE_TRY(TextInput piped, TextInput::Open({}, "-"));
    LATTICE_TRY(const auto lines, piped.All(kMaxPipedBytes));
    for (std::size_t i = 0; i < lines.size(); ++i) prompt += (i == 0 ? "\n\n" : "\n") + lines[i];
  }
  return Ask(prompt);
}

Status Chat::FileCommand(std::string_view name, const std::string& file) {
  if (file.empty()) return Error{ErrorCode::kInvalidArgument, std::string(name) + " wants a file"};
  if (name == "/save") {
    LATTICE_TRY_VOID(session().Save(file));
    return Say("saved to " + file + "\n");
  }
  std::string remark;
  LATTICE_TRY_VOID(session().Load(file, remark));
  if (!remark.empty()) LATTICE_TRY_VOID(Say(remark + "\n"));
  return Say(std::to_string(session().conversation().messages.size()) + " messages\n");
}

Status Chat::SettingCommand(std::string_view rest) {
  const std::size_t gap = rest.find(' ');
  if (gap == rest.npos) return Say(SettingLines(session()));
  const std::string name(rest.substr(0, gap)), value(rest.substr(gap + 1));
  LATTICE_TRY_VOID(ChangeSetting(name, value, session()));
  if (name != "thinking") settings_[name] = value;
  return Ok();
}

/// Until all is ready the old model stays; Ctrl-C keeps it.
Status Chat::ModelCommand(const std::string& model) {
  if (model.empty()) return Say(session().model_name() + "\n");
  const InterruptWatcher::Scope scope(*context_.interrupts);
  AppContext context = context_;
  context.stop = scope.token();
  LATTICE_TRY_VOID(Say("loading " + model + "\n"));
  LATTICE_TRY(OpenedChat other, OpenWithModel(model, arguments_.chat, session(), context));
  for (const auto& [name, value] : settings_) {
    if (name == "seed") continue;  // goes on from where it is
    LATTICE_TRY_VOID(ChangeSetting(name, value, *other.session));
  }
  std::swap(opened_, other);
  last_.reset();
  return SayReady();
}

Status Chat::Command(std::string_view line, bool& leave) {
  const std::size_t space = line.find(' ');
  const std::string_view name = line.substr(0, space);
  std::string rest(space == line.npos ? "" : line.substr(space + 1));
  if (name == "/help") return Say(kHelp);
  if (name == "/exit" || name == "/quit" || name == "/bye") {
    leave = true;
    return Ok();
  }
  if (name == "/system") {
    if (space == line.npos) return Say(session().system().value_or("(none)") + "\n");
    session().SetSystem(rest);
    return Ok();
  }
  if (name == "/reset") {
    session().Reset();
    return Ok();
  }
  if (name == "/undo") return Say(session().Undo() ? "taken back\n" : "there is nothing to undo\n");
  if (name == "/retry") {
    return Answer(
        [&](const std::stop_token& stop, ChatSink sink) { return session().Retry(stop, sink); });
  }
  if (name == "/save" || name == "/load") return FileCommand(name, rest);
  if (name == "/set") return SettingCommand(rest);
  if (name == "/stats") {
    if (!last_) return Say("no answer yet\n");
    return Say(UsageLine(last_->usage) + "; context " + std::to_string(session().n_read()) +
               " of " + std::to_string(session().n_context()) + "\n");
  }
  if (name == "/model") return ModelCommand(rest);
  return Error{ErrorCode::kInvalidArgument,
               "no command '" + std::string(name) + "'; /help lists them"};
}

std::string HistoryFile() {
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return "";
  const std::filesystem::path folder = std::filesystem::path(home) / ".lattice";
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  return (folder / "chat_history").string();
}

/// Turn after turn. At a terminal an error is shown and the conversation goes on; in a pipe it is
/// the end.
Status Chat::RunLines() {
  LineEditor editor(HistoryFile());
  if (editor.is_terminal()) {
    LATTICE_TRY_VOID(Say("/help lists the commands, Ctrl-D ends.\n"));
  }
  bool leave = false;
  while (!leave && !context_.stop.stop_requested()) {
    LATTICE_TRY(const std::optional<std::string> line, editor.Read("> "));
    if (!line) break;
    if (line->find_first_not_of(" \t\n") == std::string::npos) continue;
    const Status done = line->starts_with('/') ? Command(*line, leave) : Ask(*line);
    if (done) continue;
    if (!editor.is_terminal()) return done;
    LATTICE_TRY_VOID(Say(done.error().message + "\n"));
  }
  return Ok();
}

Status RunChat(const Arguments& arguments, const AppContext& context) {
  LATTICE_TRY(OpenedChat opened, OpenChat(arguments.chat, context));
  return Chat(std::move(opened), arguments, context).Run();
}

}  // namespace

Action DeclareChat(CLI::App& arguments, const AppContext& context) {
  const auto parsed = std::make_shared<Arguments>();
  DeclareTextModelFlags(arguments, parsed->chat.model);
  arguments
      .add_option("-p,--prompt", parsed->prompt,
                  "Answer this and end; what is piped in is added to it")
      ->type_name("TEXT");
  arguments.add_option("-s,--system", parsed->chat.system, "The system message")->type_name("TEXT");
  arguments
      .add_option("--template-name", parsed->chat.template_name,
                  "Which of the model's chat templates (default)")
      ->type_name("NAME");
  DeclareSamplingFlags(arguments, parsed->chat.sampling);
  DeclareStructureFlags(arguments, parsed->chat.structure);
  arguments.add_flag("--no-think", parsed->chat.no_think, "Ask the model not to think first");
  AddCount(arguments, "--reasoning-budget", parsed->chat.reasoning_budget,
           "End the model's thinking after N tokens");
  arguments.add_flag("--json", parsed->json,
                     "Print events, one JSON object a line: ready, token, done");
  arguments.footer(
      "\nA conversation with a model. Without a terminal every line of standard input is a turn.\n"
      "\nExamples:\n  lattice chat\n"
      "  lattice chat -p \"Name three rivers.\" --temperature 0\n"
      "  lattice chat -p \"Summarise this:\" < notes.txt");
  return [parsed, &context] { return RunChat(*parsed, context); };
}

}  // namespace lattice::apps
