#include "apps/serve_models.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "apps/available_memory.h"
#include "apps/chat_template_files.h"
#include "embed/service.h"
#include "hub/hub.h"

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
                                    std::size_t available) {
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
  options.max_waiting = 16 * flags.parallel;
  options.context_tokens = found.use.n_tokens;
  options.kv_type = found.use.kv_type;
  options.memory_bytes = std::max(std::min(bytes_for(flags.parallel), left), bytes_for(1));
  options.cache_bytes = options.memory_bytes;
  return options;
}

Result<chat::ChatFormat> FormatOf(const OpenedModels::Text& text, const AppContext& context) {
  LATTICE_TRY(ModelTemplate found, FindModelTemplate(*text.files, {}));
  LATTICE_TRY(chat::ChatTemplate chat_template,
              CompileTemplate(text.files->path(), std::move(found), context.Log()));
  return chat::MakeChatFormat(std::move(chat_template), *text.model->tokenizer);
}

Status OpenText(const std::string& name, const ServeFlags& flags, const AppContext& context,
                OpenedModels& opened) {
  TextModelFlags loading = flags.loading;
  loading.model = name;
  const std::size_t available = AvailableMemory();
  LATTICE_TRY(const FoundTextModel found, FindTextModel(loading, context));
  OpenedModels::Text& text = opened.texts.emplace_back();
  text.files = found.files;
  LATTICE_TRY(text.model, LoadFound(found, *opened.backend, context));
  LATTICE_TRY(text.scheduler, engine::Scheduler::Start(*text.model, *opened.backend, *opened.pool,
                                                       OptionsFor(flags, found, available)));
  Result<chat::ChatFormat> format = FormatOf(text, context);
  if (const LogSink log = context.Log(); log && !format) {
    log(LogLevel::kWarning, name + " cannot chat: " + format.error().message);
  }
  const std::string id = IdOf(name);
  engine::Scheduler* const scheduler = text.scheduler.get();
  opened.served.text.push_back(std::make_shared<server::ServedTextModel>(server::ServedTextModel{
      .id = id,
      .aliases = AliasesOf(name, id),
      .created = UnixTime(),
      .tokenizer = text.model->tokenizer,
      .defaults = text.model->defaults,
      .chat = std::move(format),
      .grammars =
          std::make_shared<decoding::GrammarCache>(text.model->tokenizer, text.model->n_tokens()),
      .n_tokens = text.model->n_tokens(),
      .vocab = text.model->model->info().vocab,
      .context_tokens = scheduler->context_tokens(),
      .recurrent = IsRecurrent(text.model->model->state_shape()),
      .submit =
          [scheduler](engine::GenerationRequest request) {
            return scheduler->Submit(std::move(request));
          },
      .metrics = [scheduler] { return scheduler->metrics(); }}));
  return Ok();
}

Status OpenEmbedders(const ServeFlags& flags, const AppContext& context, OpenedModels& opened) {
  embed::Engine engine;
  engine.backend = opened.backend.get();
  engine.pool = opened.pool.get();
  auto resolver = [hub = context.Hub()](std::string_view name) -> Result<embed::ModelSource> {
    LATTICE_TRY(hub::ResolvedModel model, hub::Resolve(name, hub));
    return embed::ModelSource{std::move(model.name), std::move(model.path), std::move(model.hub_id),
                              std::move(model.revision)};
  };
  opened.embeddings = embed::MakeNativeService(engine, std::move(resolver),
                                               std::string(hub::kDefaultEmbeddingModel));
  for (const std::string& name : flags.embedding_models) {
    LATTICE_TRY(EmbeddingModelInfo info, opened.embeddings->Describe(name));
    EmbedRequest of_no_texts;
    of_no_texts.model = name;
    LATTICE_TRY_VOID(opened.embeddings->Embed({}, of_no_texts));  // or why it gives no vectors
    const std::string id = IdOf(name);
    opened.served.embedders.push_back(std::make_shared<server::ServedEmbedder>(
        server::ServedEmbedder{.id = id,
                               .aliases = AliasesOf(name, id),
                               .created = UnixTime(),
                               .name = name,
                               .info = std::move(info),
                               .service = opened.embeddings.get()}));
  }
  return Ok();
}

}  // namespace

Result<OpenedModels> OpenModels(const ServeFlags& flags, const AppContext& context) {
  OpenedModels opened;
  opened.pool = MakePool(flags.loading.threads);
  LATTICE_TRY(opened.backend, MakeBackend(*opened.pool, context));
  for (const std::string& name : flags.models) {
    auto status = OpenText(name, flags, context, opened);
    if (!status) return std::move(status).error();
  }
  LATTICE_TRY_VOID(OpenEmbedders(flags, context, opened));
  return opened;
}

}  // namespace lattice::apps
