#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "server/openai/field_reader.h"
#include "server/openai/service.h"

namespace lattice::server {
namespace {

const char* PhaseName(ModelState::Phase phase) {
  switch (phase) {
    case ModelState::Phase::kUnloaded:
      return "unloaded";
    case ModelState::Phase::kLoading:
      return "loading";
    case ModelState::Phase::kLoaded:
      return "loaded";
  }
  return "";
}

boost::json::object ModelJson(const ModelState& state) {
  boost::json::object status = {{"value", PhaseName(state.phase)}};
  if (state.failure) {
    status["failed"] = true;
    status["message"] = *state.failure;
  }
  boost::json::object model = {{"id", state.id},
                               {"object", "model"},
                               {"created", state.created},
                               {"owned_by", "lattice"},
                               {"kind", ModelKindName(state.kind)},
                               {"status", std::move(status)}};
  if (state.max_tokens) model["max_model_len"] = *state.max_tokens;
  return model;
}

/// The name in {"model": NAME}.
ApiResult<std::string> NamedModelOf(const Exchange& exchange) {
  LATTICE_TRY(const boost::json::object body, ParseBody(exchange.request().body));
  FieldReader reader(body);
  const auto name = reader.String("model");
  if (!name) reader.Complain("model", "must name a model");
  constexpr std::string_view kNames[] = {"model"};
  reader.RefuseOthers({kNames});
  if (!reader.ok()) return reader.error();
  return *name;
}

ApiResult<std::string> Done(std::optional<ApiError> error) {
  if (error) return *std::move(error);
  return std::string(R"({"success":true})");
}

void Set(boost::json::object& object, const char* name, const auto& value) {
  if (value) object[name] = *value;
}

/// In the way of llama.cpp.
boost::json::object PropertiesJson(const ServedTextModel& model) {
  boost::json::object sampling;
  Set(sampling, "temperature", model.defaults.temperature);
  Set(sampling, "top_k", model.defaults.top_k);
  Set(sampling, "top_p", model.defaults.top_p);
  Set(sampling, "min_p", model.defaults.min_p);
  Set(sampling, "repeat_penalty", model.defaults.repetition_penalty);
  boost::json::object settings = {{"n_ctx", model.context_tokens}, {"params", std::move(sampling)}};
  return {{"default_generation_settings", std::move(settings)},
          {"total_slots", model.n_parallel},
          {"model_alias", model.id},
          {"chat_template", model.chat ? model.chat->chat_template.source() : ""},
          {"modalities", {{"vision", false}, {"audio", false}}},
          {"build_info", "lattice-" LATTICE_VERSION}};
}

}  // namespace

void Service::ListModels(const ExchangePtr& exchange) {
  boost::json::array data;
  for (const ModelState& state : models_.States()) data.push_back(ModelJson(state));
  exchange->Reply({.body = boost::json::serialize(
                       boost::json::object{{"object", "list"}, {"data", std::move(data)}})});
}

void Service::ShowModel(const ExchangePtr& exchange) {
  constexpr std::string_view kFolder = "/models/";
  const std::string_view id = ShortPath(exchange->request().path).substr(kFolder.size());
  const auto state = models_.State(id);
  if (!state) return exchange->Reply(ErrorResponse(models_.Unknown()));
  exchange->Reply({.body = boost::json::serialize(ModelJson(*state))});
}

void Service::LoadModel(const ExchangePtr& exchange) {
  const auto name = NamedModelOf(*exchange);
  Answer(*exchange, name ? Done(models_.Load(*name)) : name.error());
}

void Service::UnloadModel(const ExchangePtr& exchange) {
  const auto name = NamedModelOf(*exchange);
  Answer(*exchange, name ? Done(models_.Unload(*name)) : name.error());
}

void Service::PrintMetrics(const ExchangePtr& exchange) {
  std::vector<Metrics::Model> models;
  for (const ModelState& state : models_.States()) {
    models.push_back({.id = state.id,
                      .loaded = state.phase == ModelState::Phase::kLoaded,
                      .n_loads = state.n_loads,
                      .engine = state.engine});
  }
  exchange->Reply(
      {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics_.Print(models)});
}

void Service::ShowProperties(const ExchangePtr& exchange) {
  const auto model = models_.Text(std::nullopt);
  if (!model) return exchange->Reply(ErrorResponse(model.error()));
  exchange->Reply({.body = boost::json::serialize(PropertiesJson(**model))});
}

void Service::ShowVersion(const ExchangePtr& exchange) {
  exchange->Reply({.body = R"({"version":")" LATTICE_VERSION R"("})"});
}

void Service::Ping(const ExchangePtr& exchange) { exchange->Reply({.body = "{}"}); }

}  // namespace lattice::server
