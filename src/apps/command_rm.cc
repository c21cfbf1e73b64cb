#include "apps/command_rm.h"

#include <boost/json.hpp>
#include <memory>
#include <string>

#include "apps/progress_bar.h"
#include "apps/text_engine.h"
#include "models/weight_cache.h"

namespace lattice::apps {
namespace {

struct Arguments {
  std::string model;
  std::string revision;
  bool packed = false;
  bool json = false;
};

Status RemovePacked(const Arguments& arguments, const AppContext& context) {
  const std::uint64_t freed = models::WeightCache(WeightCacheFolder(context)).Clear();
  if (arguments.json) {
    return Print(boost::json::serialize(boost::json::object{{"freed_bytes", freed}}) + "\n");
  }
  return Print("removed packed weights (" + ByteText(freed) + ")\n");
}

Status Remove(const Arguments& arguments, const AppContext& context) {
  if (arguments.packed) return RemovePacked(arguments, context);
  LATTICE_TRY(const hub::HubId id, hub::ParseModelName(arguments.model));
  const hub::ModelCache cache(context.environment.model_cache);
  LATTICE_TRY(const std::uint64_t freed, cache.Remove(id, arguments.revision));
  if (arguments.json) {
    const boost::json::object json{{"model", id.text()}, {"freed_bytes", freed}};
    return Print(boost::json::serialize(json) + "\n");
  }
  return Print("removed " + id.text() + " (" + ByteText(freed) + ")\n");
}

}  // namespace

Action DeclareRm(CLI::App& arguments, const AppContext& context) {
  const auto parsed = std::make_shared<Arguments>();
  CLI::App* what = arguments.add_option_group("what", "One of:");
  what->add_option("MODEL", parsed->model, "A known name or OWNER/NAME");
  what->add_flag("--packed", parsed->packed,
                 "The packed weights of all generators, which the next start makes again");
  what->require_option(1);
  arguments.add_option("--revision", parsed->revision, "Only this revision; otherwise all copies")
      ->type_name("R");
  arguments.add_flag("--json", parsed->json, "Print JSON");
  arguments.footer("\nExamples:\n  lattice rm all-minilm-l6-v2\n  lattice rm --packed");
  return [parsed, &context] { return Remove(*parsed, context); };
}

}  // namespace lattice::apps
