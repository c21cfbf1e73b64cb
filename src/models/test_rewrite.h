#pragma once

#include <boost/json/serialize.hpp>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "models/test_support.h"
#include "weights/checkpoint.h"
#include "weights/safetensors_writer.h"
#include "weights/test_files.h"

namespace lattice::models {

/// A tiny model in memory, to be changed and written out as a folder of its own.
struct EditableModel {
  struct Tensor {
    Dtype dtype = Dtype::kF32;
    std::vector<std::size_t> shape;
    std::vector<std::byte> bytes;
  };
  boost::json::object config;
  std::map<std::string, Tensor> tensors;

  /// A folder of tests/fixtures.
  explicit EditableModel(const std::string& fixture) {
    const auto folder = std::filesystem::path(LATTICE_FIXTURES) / fixture;
    config = ParseJson(ReadFile(folder / "config.json", 1 << 20).value()).value().as_object();
    const auto checkpoint = weights::Checkpoint::Open(folder).value();
    for (const auto& [name, view] : checkpoint->tensors()) {
      tensors[name] = {view.dtype, view.shape, {view.bytes.begin(), view.bytes.end()}};
    }
  }

  void Add(const std::string& name, std::vector<std::size_t> shape, std::span<const float> values) {
    const auto bytes = std::as_bytes(values);
    tensors[name] = {Dtype::kF32, std::move(shape), {bytes.begin(), bytes.end()}};
  }
  void Rename(const std::string& from, const std::string& to) {
    auto node = tensors.extract(from);
    ASSERT_FALSE(node.empty()) << from;
    node.key() = to;
    tensors.insert(std::move(node));
  }
  std::vector<float> Floats(const std::string& name) const {
    const Tensor& tensor = tensors.at(name);
    std::vector<float> values(tensor.bytes.size() / DtypeBytes(tensor.dtype));
    WidenToF32(tensor.dtype, tensor.bytes, values);
    return values;
  }
  void WriteConfig(const TestFolder& folder) const {
    folder.Write("config.json", boost::json::serialize(config));
  }
  void Write(const TestFolder& folder) const {
    WriteConfig(folder);
    std::vector<weights::TensorSpec> specs;
    for (const auto& [name, tensor] : tensors) specs.push_back({name, tensor.dtype, tensor.shape});
    auto writer = weights::SafetensorsWriter::Create(folder.path() / "model.safetensors", specs);
    ASSERT_TRUE(writer) << writer.error().message;
    for (const auto& [name, tensor] : tensors) ASSERT_TRUE(writer->Append(tensor.bytes)) << name;
    ASSERT_TRUE(writer->Finish());
  }
};

}  // namespace lattice::models
