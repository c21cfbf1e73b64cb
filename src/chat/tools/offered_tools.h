#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string_view>
#include <utility>

namespace lattice::chat {

/// The tools of a conversation: [{"type": "function", "function": {"name", "parameters"}}, ...].
class OfferedTools {
 public:
  explicit OfferedTools(boost::json::array tools) : tools_(std::move(tools)) {}

  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  /// The JSON schema of a tool's arguments; null when nothing is known of it.
  const boost::json::object* Parameters(std::string_view name) const;

 private:
  const boost::json::object* Find(std::string_view name) const;

  boost::json::array tools_;
};

}  // namespace lattice::chat
