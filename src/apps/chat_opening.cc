#include "apps/chat_opening.h"

#include <utility>

#include "apps/chat_template_files.h"

namespace lattice::apps {

Result<OpenedChat> OpenChat(const ChatFlags& flags, const AppContext& context) {
  LATTICE_TRY(const auto structure, ReadStructure(flags.structure));
  LATTICE_TRY(TextEngine engine, OpenTextEngine(flags.model, context));
  OpenedChat chat;
  chat.engine = std::make_unique<TextEngine>(std::move(engine));
  LATTICE_TRY(ModelTemplate found,
              FindModelTemplate(*chat.engine->files, {.name = flags.template_name}));
  LATTICE_TRY(chat::ChatTemplate chat_template,
              CompileTemplate(chat.engine->files->path(), std::move(found), context.Log()));
  chat.session = std::make_unique<ChatSession>(*chat.engine, std::move(chat_template));
  chat.session->generation() = MakeGenerationOptions(flags.sampling, chat.engine->model->defaults);
  LATTICE_TRY(chat.session->structure(), PrepareStructure(structure, *chat.engine->model));
  if (flags.no_think) chat.session->thinking().enabled = false;
  chat.session->thinking().budget = flags.reasoning_budget;
  if (!flags.system.empty()) chat.session->SetSystem(flags.system);
  return chat;
}

Result<OpenedChat> OpenWithModel(const std::string& model, ChatFlags flags, ChatSession& current,
                                 const AppContext& context) {
  flags.model.model = model;
  flags.template_name.clear();
  LATTICE_TRY(OpenedChat chat, OpenChat(flags, context));
  chat.session->thinking() = current.thinking();
  chat.session->generation().sampling.seed = current.generation().sampling.seed;
  LATTICE_TRY_VOID(chat.session->Continue(current.conversation()));
  return chat;
}

}  // namespace lattice::apps
