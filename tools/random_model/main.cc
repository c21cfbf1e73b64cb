// Writes a model of a known shape, or of any config.json, with random weights: to measure speed
// where the real files are not at hand. Time depends on the sizes, not on the numbers.
#include <CLI/CLI.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "gguf.h"
#include "shapes.h"
#include "tensors.h"
#include "values.h"
#include "weights/gguf_writer.h"
#include "weights/safetensors_writer.h"

namespace lattice::random_model {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using weights::SafetensorsWriter;

struct Arguments {
  std::string shape, config, folder, tokenizer_from, dtype = "f32";
  std::uint64_t seed = 1;
};

Status WriteText(const fs::path& file, const json::value& value) {
  return WriteFileAtomically(file, json::serialize(value) + "\n");
}

/// The files of an embedding pipeline: pooling, then unit length.
Status WritePipeline(const json::object& config, std::string_view pooling, const fs::path& folder) {
  fs::create_directories(folder / "1_Pooling");
  const std::string type = "sentence_transformers.models.";
  const auto module = [&](std::size_t i, const char* path, const char* name) {
    return json::object{
        {"idx", i}, {"name", std::to_string(i)}, {"path", path}, {"type", type + name}};
  };
  LATTICE_TRY_VOID(
      WriteText(folder / "modules.json",
                json::array{module(0, "", "Transformer"), module(1, "1_Pooling", "Pooling"),
                            module(2, "2_Normalize", "Normalize")}));
  return WriteText(folder / "1_Pooling/config.json",
                   json::object{{"word_embedding_dimension", config.at("hidden_size")},
                                {"pooling_mode", pooling}});
}

Status WriteSafetensors(const std::vector<TensorPlan>& tensors, Dtype dtype, std::uint64_t seed,
                        const fs::path& file) {
  std::vector<weights::TensorSpec> specs;
  for (const TensorPlan& tensor : tensors) specs.push_back({tensor.name, dtype, tensor.shape});
  LATTICE_TRY(SafetensorsWriter writer, SafetensorsWriter::Create(file, specs));
  for (const TensorPlan& tensor : tensors) {
    const auto append = [&](std::span<const std::byte> bytes) { return writer.Append(bytes); };
    LATTICE_TRY_VOID(MakeValues(tensor, dtype, seed, append));
  }
  return writer.Finish();
}

/// Vectors stay f32, as is usual in these files.
Status WriteGguf(const json::object& config, const std::vector<TensorPlan>& tensors, Dtype dtype,
                 std::uint64_t seed, const fs::path& file) {
  LATTICE_TRY(const lattice::weights::GgufPairs pairs, GgufMetadataOf(config));
  std::vector<TensorPlan> renamed;
  std::vector<lattice::weights::TensorSpec> specs;
  for (const TensorPlan& tensor : tensors) {
    LATTICE_TRY(TensorPlan plan, GgufTensor(config, tensor));
    specs.push_back({plan.name, plan.small ? Dtype::kF32 : dtype, plan.shape});
    renamed.push_back(std::move(plan));
  }
  LATTICE_TRY(auto writer, lattice::weights::GgufWriter::Create(file, pairs, specs));
  for (std::size_t i = 0; i < renamed.size(); ++i) {
    const auto append = [&](std::span<const std::byte> bytes) { return writer.Append(bytes); };
    LATTICE_TRY_VOID(MakeValues(renamed[i], specs[i].dtype, seed, append));
  }
  return writer.Finish();
}

Result<json::object> ReadConfig(const Arguments& arguments) {
  if (arguments.config.empty()) return *ShapeConfig(arguments.shape);
  LATTICE_TRY(const std::string text, ReadFile(arguments.config, std::size_t{1} << 20));
  LATTICE_TRY(const json::value value, ParseJson(text));
  if (value.is_object()) return value.as_object();
  return Error{ErrorCode::kCorruptData, arguments.config + ": no JSON object"};
}

void CopyTokenizer(const fs::path& from, const fs::path& to) {
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
                           "vocab.txt", "tokenizer.model", "sentencepiece.bpe.model"}) {
    if (!fs::exists(from / name)) continue;
    fs::copy_file(from / name, to / name, fs::copy_options::overwrite_existing);
  }
}

std::string Upper(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

Status Write(const Arguments& arguments) {
  LATTICE_TRY(const json::object config, ReadConfig(arguments));
  LATTICE_TRY(const std::vector<TensorPlan> tensors, PlanTensors(config));
  const Dtype dtype = *lattice::DtypeFromName(Upper(arguments.dtype));
  const fs::path folder = arguments.folder;
  if (folder.extension() == ".gguf") {
    return WriteGguf(config, tensors, dtype, arguments.seed, folder);
  }
  if (lattice::IsBlock(dtype)) {
    return lattice::Error{lattice::ErrorCode::kUnsupported,
                          "blocks are for GGUF files: name one, as model.gguf"};
  }
  fs::create_directories(folder);
  LATTICE_TRY_VOID(WriteText(folder / "config.json", config));
  const std::string_view pooling = ShapePooling(arguments.shape);
  if (!pooling.empty()) LATTICE_TRY_VOID(WritePipeline(config, pooling, folder));
  if (!arguments.tokenizer_from.empty()) CopyTokenizer(arguments.tokenizer_from, folder);
  return WriteSafetensors(tensors, dtype, arguments.seed, folder / "model.safetensors");
}

int Run(int argc, char** argv) {
  CLI::App app("Writes a model of a known shape, or of any config.json, with random weights.");
  Arguments arguments;
  app.add_option("shape", arguments.shape, "A shape, or 'config' with --config")
      ->required()
      ->check(CLI::IsMember(ShapeNames()) | CLI::IsMember({"config"}));
  app.add_option("folder", arguments.folder, "A folder for safetensors, or a .gguf file")
      ->required();
  app.add_option("--config", arguments.config, "The config.json of the model to make")
      ->check(CLI::ExistingFile);
  app.add_option("--seed", arguments.seed);
  app.add_option("--dtype", arguments.dtype)
      ->check(CLI::IsMember({"f32", "f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0"}));
  app.add_option("--tokenizer-from", arguments.tokenizer_from,
                 "Folder whose tokenizer files are copied")
      ->check(CLI::ExistingDirectory);
  CLI11_PARSE(app, argc, argv);
  if ((arguments.shape == "config") != !arguments.config.empty()) {
    std::cerr << "the shape 'config' and --config go together\n";
    return 2;
  }
  if (const Status done = Write(arguments); !done) {
    std::cerr << done.error().message << "\n";
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace lattice::random_model

int main(int argc, char** argv) { return lattice::random_model::Run(argc, argv); }
