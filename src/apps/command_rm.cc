#include "apps/command_rm.h"

#include <boost/json.hpp>
#include <memory>
#include <string>

#include "apps/progress_bar.h"

namespace lattice::apps {
namespace {

struct Arguments {
  std::string model;
  std::string revision;
  bool json = false;
};

Status Remove(const Arguments& arguments, const AppContext& context) {
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
  arguments.add_option("MODEL", parsed->model, "A known name or OWNER/NAME")->required();
  arguments.add_option("--revision", parsed->revision, "Only this revision; otherwise all copies")
      ->type_name("R");
  arguments.add_flag("--json", parsed->json, "Print JSON");
  arguments.footer("\nExample:\n  lattice rm all-minilm-l6-v2");
  return [parsed, &context] { return Remove(*parsed, context); };
}

}  // namespace lattice::apps
