#include "apps/serve_models.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "apps/available_memory.h"
#include "apps/chat_template_files.h"
#include "embed/embedding_model.h"
#include "engine/scheduler.h"
#include "hub/hub.h"
#include "server/openai/generation_fields.h"

namespace lattice::apps {
namespace {

std::int64_t UnixTime() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// What clients call a model: the name that was given, but of a path its last part alone.
std::string IdOf(const std::string& name) {
  std::error_code ignored;
  if (!std::filesystem::exists(name, ignored)) return name;
  const auto path = std::filesystem::weakly_canonical(name, ignored);
  return path.extension() == ".gguf" ? path.stem().string() : path.filename().string();
}

/// "OWNER/NAME" is found as "NAME", too.
std::vector<std::string> AliasesOf(const std::string& name, const std::string& id) {
  std::vector<std::string> aliases;
  for (const std::string& alias : {name, id.substr(id.rfind('/') + 1)}) {
    if (alias != id && !alias.empty()) aliases.push_back(alias);
  }
  return aliases;
}

bool IsRecurrent(const models::StateShape& shape) {
  return std::ranges::any_of(shape.layers, [](const models::LayerState& layer) {
    return layer.kind == models::LayerState::Kind::kDeltaNet;
  });
}

/// Memory for keys, values and states: what `parallel` texts of the whole context take, or half of
/// what the weights leave free if that is less; at least what one text takes.
engine::SchedulerOptions OptionsFor(const ServeFlags& flags, const FoundTextModel& found,
                                    std::size_t available, LogSink log) {
  const auto bytes_for = [&](std::size_t n_texts) {
    models::ModelUse use = found.use;
    use.n_tokens *= n_texts;
    use.n_sequences = 2 * n_texts + 8;  // with places that are kept of texts
    return found.plan.KvBytes(use) + found.plan.StateBytes(use);
  };
  models::ModelUse nothing = found.use;
  nothing.n_tokens = 0;
  const std::size_t taken = found.plan.TotalBytes(nothing);
  const std::size_t left = available > taken ? (available - taken) / 2 : 0;
  engine::SchedulerOptions options;
  options.max_sequences = flags.parallel;
  // All choices that one request may ask for find room, so that none is told in vain to come again.
  options.max_waiting = std::max(16 * flags.parallel, server::kMaxAnswers);
  options.context_tokens = found.use.n_tokens;
  options.kv_type = found.use.kv_type;
  options.memory_bytes = std::max(std::min(bytes_for(flags.parallel), left), bytes_for(1));
  options.cache_bytes = options.memory_bytes;
  options.kept_folder = flags.prompt_cache;
  options.kept_file_bytes = flags.prompt_cache_mib << 20;
  options.log = std::move(log);
  return options;
}

/// How requests reach the engine.
auto SubmitTo(engine::Scheduler* scheduler, std::chrono::seconds time_limit) {
  return [scheduler, time_limit](engine::GenerationRequest request) {
    if (time_limit.count() > 0) request.deadline = std::chrono::steady_clock::now() + time_limit;
    return scheduler->Submit(std::move(request));
  };
}

/// A generator with what answers with it; the members are in the order in which they need each
/// other.
struct TextParts {
  std::shared_ptr<const models::ModelFiles> files;
  std::unique_ptr<engine::TextModel> model;
  std::unique_ptr<engine::Scheduler> scheduler;
};

Result<chat::ChatFormat> FormatOf(const TextParts& text, const AppContext& context) {
  LATTICE_TRY(ModelTemplate found, FindModelTemplate(*text.files, {}));
  LATTICE_TRY(chat::ChatTemplate chat_template,
              CompileTemplate(text.files->path(), std::move(found), context.Log()));
  return chat::MakeChatFormat(std::move(chat_template), *text.model->tokenizer);
}

/// What all models compute with.
struct Machine {
  const ServeFlags& flags;
  const AppContext& context;
  ThreadPool& pool;
  kernels::Backend& backend;
};

Result<server::LoadedModel> LoadText(const std::string& name, const server::NamedModel& named,
                                     const Machine& machine) {
  TextModelFlags loading = machine.flags.loading;
  loading.model = name;
  const std::size_t available = AvailableMemory();
  LATTICE_TRY(const FoundTextModel found, FindTextModel(loading, machine.context));
  const auto text = std::make_shared<TextParts>();
  text->files = found.files;
  LATTICE_TRY(text->model, LoadFound(found, machine.backend, machine.context));
  const engine::SchedulerOptions options =
      OptionsFor(machine.flags, found, available, machine.context.Log());
  LATTICE_TRY(text->scheduler,
              engine::Scheduler::Start(*text->model, machine.backend, machine.pool, options));
  Result<chat::ChatFormat> format = FormatOf(*text, machine.context);
  if (const LogSink log = machine.context.Log(); log && !format) {
    log(LogLevel::kWarning, name + " cannot chat: " + format.error().message);
  }
  engine::Scheduler* const scheduler = text->scheduler.get();
  std::vector<TokenId> marks;
  if (format) marks = format->call_tokens;
  server::ServedTextModel served{
      .id = named.id,
      .aliases = named.aliases,
      .created = named.created,
      .tokenizer = text->model->tokenizer,
      .defaults = text->model->defaults,
      .chat = std::move(format),
      .grammars = std::make_shared<decoding::GrammarCache>(
          text->model->tokenizer, text->model->n_tokens(), std::move(marks)),
      .n_tokens = text->model->n_tokens(),
      .vocab = text->model->model->info().vocab,
      .context_tokens = scheduler->context_tokens(),
      .recurrent = IsRecurrent(text->model->model->state_shape()),
      .submit = SubmitTo(scheduler, std::chrono::seconds(machine.flags.time_limit_s)),
      .metrics = [scheduler] { return scheduler->metrics(); },
      .stop = [scheduler] { scheduler->Stop(); },
      .n_parallel = options.max_sequences,
      .engine = text};
  return server::LoadedModel{.text = std::make_shared<server::ServedTextModel>(std::move(served)),
                             .embedder = nullptr};
}

/// Fails with the reason when the model gives no vectors, or no scores.
Result<server::LoadedModel> LoadEmbedder(const std::string& name, const server::NamedModel& named,
                                         const Machine& machine) {
  LATTICE_TRY(hub::ResolvedModel found, hub::Resolve(name, machine.context.Hub()));
  embed::Engine engine;
  engine.backend = &machine.backend;
  engine.pool = &machine.pool;
  engine.log = machine.context.Log();
  LATTICE_TRY(auto model,
              embed::EmbeddingModel::Load({std::move(found.name), std::move(found.path),
                                           std::move(found.hub_id), std::move(found.revision)},
                                          engine));
  if (named.kind == server::ModelKind::kReranker) {
    auto status = model->CanRerank();
    if (!status) return std::move(status).error().Within(name);
  } else {
    LATTICE_TRY_VOID(model->Embed({}, {}));
  }
  server::ServedEmbedder served{.id = named.id,
                                .aliases = named.aliases,
                                .created = named.created,
                                .info = model->info(),
                                .model = model};
  return server::LoadedModel{
      .text = nullptr, .embedder = std::make_shared<server::ServedEmbedder>(std::move(served))};
}

server::NamedModel Named(const std::string& name, server::ModelKind kind, const Machine& machine) {
  const std::string id = IdOf(name);
  server::NamedModel named{
      .id = id, .aliases = AliasesOf(name, id), .kind = kind, .created = UnixTime(), .load = {}};
  named.load = [name, machine, bare = named] {
    return bare.kind == server::ModelKind::kText ? LoadText(name, bare, machine)
                                                 : LoadEmbedder(name, bare, machine);
  };
  return named;
}

}  // namespace

Result<OpenedModels> OpenModels(const ServeFlags& flags, const AppContext& context) {
  OpenedModels opened;
  opened.pool = MakePool(flags.loading.threads);
  LATTICE_TRY(opened.backend, MakeBackend(*opened.pool, context));
  const Machine machine{flags, context, *opened.pool, *opened.backend};
  std::vector<server::NamedModel> named;
  const auto add = [&](const std::vector<std::string>& names, server::ModelKind kind) {
    for (const std::string& name : names) named.push_back(Named(name, kind, machine));
  };
  add(flags.models, server::ModelKind::kText);
  add(flags.embedding_models, server::ModelKind::kEmbedding);
  add(flags.rerank_models, server::ModelKind::kReranker);
  opened.models = std::make_unique<server::ModelPool>(
      std::move(named),
      server::ModelPoolOptions{.keep_alive = std::chrono::seconds(flags.keep_alive_s),
                               .log = context.Log()});
  LATTICE_TRY_VOID(opened.models->Start(/*load_all=*/!flags.lazy));
  return opened;
}

std::string NamesOf(const server::ModelPool& models) {
  std::string names;
  for (const server::ModelState& state : models.States()) names += " " + state.id;
  return names;
}

}  // namespace lattice::apps
