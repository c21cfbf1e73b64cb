#include "apps/command_models.h"

#include <algorithm>
#include <boost/json.hpp>
#include <memory>
#include <string>
#include <vector>

#include "apps/model_json.h"
#include "apps/progress_bar.h"
#include "apps/text_engine.h"
#include "models/weight_cache.h"

namespace lattice::apps {
namespace {

struct Arguments {
  bool known = false;
  bool json = false;
};

/// Rows of text with columns padded to their widest cell.
std::string Table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += row[i];
      if (i + 1 < row.size()) text.append(widths[i] - row[i].size() + 2, ' ');
    }
    text += "\n";
  }
  return text;
}

Status ListKnown(bool json) {
  boost::json::array list;
  std::vector<std::vector<std::string>> rows{{"NAME", "MODEL", "KIND"}};
  for (const hub::Alias& alias : hub::Aliases()) {
    rows.push_back({std::string(alias.name), std::string(alias.hub_id), std::string(alias.kind)});
    list.push_back(
        boost::json::object{{"name", alias.name}, {"model", alias.hub_id}, {"kind", alias.kind}});
  }
  return Print(json ? boost::json::serialize(list) + "\n" : Table(rows));
}

Status ListCached(const AppContext& context, bool json) {
  const hub::ModelCache cache(context.environment.model_cache);
  LATTICE_TRY(const std::vector<hub::CachedModel> models, cache.List());
  boost::json::array list;
  std::vector<std::vector<std::string>> rows{{"MODEL", "SIZE", "REVISION"}};
  for (const hub::CachedModel& model : models) {
    rows.push_back({model.hub_id, ByteText(model.size_bytes()), model.revision});
    list.push_back(CachedModelJson(model, /*with_files=*/false));
  }
  if (json) return Print(boost::json::serialize(list) + "\n");
  if (models.empty()) {
    return Print("No models in " + cache.root().string() +
                 ". Fetch one: lattice pull all-minilm-l6-v2\n");
  }
  std::string text = Table(rows);
  if (const std::uint64_t packed = models::WeightCache(WeightCacheFolder(context)).SizeBytes()) {
    text += "and " + ByteText(packed) + " of packed weights; to remove them: lattice rm --packed\n";
  }
  return Print(text);
}

}  // namespace

Action DeclareModels(CLI::App& arguments, const AppContext& context) {
  const auto parsed = std::make_shared<Arguments>();
  arguments.add_flag("--known", parsed->known, "List the short names and what they stand for");
  arguments.add_flag("--json", parsed->json, "Print JSON");
  arguments.footer("\nExamples:\n  lattice models\n  lattice models --known");
  return [parsed, &context] {
    return parsed->known ? ListKnown(parsed->json) : ListCached(context, parsed->json);
  };
}

}  // namespace lattice::apps
