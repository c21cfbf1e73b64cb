#pragma once

#include <boost/json/object.hpp>

#include "hub/model_cache.h"
#include "models/model.h"

namespace lattice::apps {

/// How the commands' JSON describes a cached model; `with_files` adds its files.
boost::json::object CachedModelJson(const hub::CachedModel& model, bool with_files);

/// What `show` and `doctor` say of a generator by its files' headers.
boost::json::object ModelInfoJson(const models::ModelInfo& info);

}  // namespace lattice::apps
