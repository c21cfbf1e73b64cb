#include "apps/model_json.h"

#include <boost/json.hpp>

namespace lattice::apps {

boost::json::object CachedModelJson(const hub::CachedModel& model, bool with_files) {
  boost::json::object json{{"model", model.hub_id},
                           {"revision", model.revision},
                           {"requested_revision", model.requested_revision},
                           {"source", model.source},
                           {"pulled_at", model.pulled_at},
                           {"size_bytes", model.size_bytes()},
                           {"path", model.folder.string()}};
  if (with_files) {
    boost::json::array files;
    for (const hub::CachedFile& file : model.files) {
      files.push_back(
          boost::json::object{{"path", file.path}, {"size", file.size}, {"sha256", file.sha256}});
    }
    json["files"] = std::move(files);
  }
  return json;
}

boost::json::object ModelInfoJson(const models::ModelInfo& info) {
  return {{"architecture", info.architecture},
          {"layers", info.n_layers},
          {"hidden", info.hidden},
          {"vocabulary", info.vocab},
          {"max_tokens", info.max_tokens}};
}

}  // namespace lattice::apps
