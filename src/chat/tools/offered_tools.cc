#include "chat/tools/offered_tools.h"

namespace lattice::chat {

const boost::json::object* OfferedTools::Find(std::string_view name) const {
  for (const boost::json::value& tool : tools_) {
    const auto* object = tool.if_object();
    const auto* function = object == nullptr ? nullptr : object->if_contains("function");
    const auto* inner = function == nullptr ? nullptr : function->if_object();
    const auto* found = inner == nullptr ? nullptr : inner->if_contains("name");
    if (found != nullptr && *found == boost::json::string_view(name.data(), name.size())) {
      return inner;
    }
  }
  return nullptr;
}

const boost::json::object* OfferedTools::Parameters(std::string_view name) const {
  const boost::json::object* tool = Find(name);
  const auto* parameters = tool == nullptr ? nullptr : tool->if_contains("parameters");
  return parameters == nullptr ? nullptr : parameters->if_object();
}

}  // namespace lattice::chat
