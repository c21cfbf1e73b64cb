#pragma once

#include <boost/json/object.hpp>

#include "hub/model_cache.h"

namespace lattice::apps {

/// How the commands' JSON describes a cached model; `with_files` adds its files.
boost::json::object CachedModelJson(const hub::CachedModel& model, bool with_files);

}  // namespace lattice::apps
