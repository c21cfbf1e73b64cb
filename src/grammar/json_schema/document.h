#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lattice/result.h"

namespace lattice::grammar {

enum class Dialect : std::uint8_t { kDraft4, kDraft6, kDraft7, k2019, k2020 };

/// Index of a node of a SchemaDocument.
using NodeId = std::uint32_t;
inline constexpr NodeId kTrueNode = 0;  ///< The schema `true`.

/// What a claim is about: a schema, or a value that stands in an `enum` or `const`.
struct SchemaNode {
  const boost::json::value* value;
  bool is_constant;
  std::uint32_t resource;
  std::string path;  ///< From the root: "#/properties/a".
};

/// A schema as read: where its parts are, under which addresses, and where references lead.
class SchemaDocument {
 public:
  /// root      outlives the document.
  /// fallback  the dialect of schemas that name none.
  /// Errors    kUnsupported: a dialect that is not known; kInvalidArgument: not a schema at all.
  static Result<SchemaDocument> Read(const boost::json::value& root, Dialect fallback);

  const SchemaNode& node(NodeId id) const { return nodes_[id]; }
  Dialect dialect(NodeId id) const { return resources_[nodes_[id].resource].dialect; }
  NodeId root() const { return root_; }

  /// The node of a part of `parent`, `step` being how to get there ("properties/a", escaped).
  NodeId Child(NodeId parent, const boost::json::value& value, std::string_view step,
               bool is_constant = false);
  /// A value that stands nowhere in the document and outlives it.
  NodeId Constant(const boost::json::value& value);

  /// What `$ref` says at `from`. kUnsupported for other documents, kInvalidArgument for nothing.
  Result<NodeId> Resolve(NodeId from, std::string_view reference);
  /// What `$dynamicRef` says. kUnsupported when that depends on who refers.
  Result<NodeId> ResolveDynamic(NodeId from, std::string_view reference);

 private:
  struct Resource {
    std::string uri;
    const boost::json::value* root;
    std::string path;
    Dialect dialect;
  };
  struct Place {
    const boost::json::value* value;
    std::uint32_t resource;
    std::string path;
    bool is_dynamic = false;
  };

  SchemaDocument() = default;
  Status Walk(const boost::json::value& schema, std::uint32_t resource, const std::string& path);
  Status WalkMembers(const boost::json::object& schema, std::uint32_t resource,
                     const std::string& path);
  Status Register(const boost::json::value& schema, std::uint32_t& resource,
                  const std::string& path);
  Result<Place> Find(NodeId from, std::string_view reference) const;
  Result<Place> FollowPointer(Place place, std::string_view pointer) const;
  NodeId Intern(const boost::json::value& value, bool is_constant, std::uint32_t resource,
                std::string path);

  NodeId root_ = 0;
  std::vector<SchemaNode> nodes_;
  std::map<std::pair<const boost::json::value*, bool>, NodeId> ids_;
  std::vector<Resource> resources_;
  std::unordered_map<std::string, std::uint32_t> resource_of_uri_;
  std::unordered_map<std::string, Place> anchors_;  // by uri#name
  std::unordered_map<std::string, std::size_t> n_dynamic_anchors_;
  std::unordered_map<const boost::json::value*, std::uint32_t> resource_of_;
};

/// A step of a JSON pointer with '~' and '/' escaped.
std::string PointerStep(std::string_view name);

}  // namespace lattice::grammar
