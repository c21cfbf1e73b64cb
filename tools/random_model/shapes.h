#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lattice::random_model {

/// Names of the shapes of well-known models.
std::vector<std::string> ShapeNames();

/// The config.json of one of them.
std::optional<boost::json::object> ShapeConfig(std::string_view name);

/// How an embedding model of this shape pools; empty for a generator or a classifier.
std::string_view ShapePooling(std::string_view name);

}  // namespace lattice::random_model
