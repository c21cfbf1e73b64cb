#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace lattice::embed {

/// A digest that changes when a model's files do: over the bytes of small .json and .txt files and
/// over size, time and number of large ones (weights), in `folders` themselves. What cannot be read
/// counts as absent.
std::string FileIdentity(std::span<const std::filesystem::path> folders);

}  // namespace lattice::embed
