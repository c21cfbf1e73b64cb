#include "weights/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cmath>
#include <limits>

#include "weights/safetensors_index.h"
#include "weights/test_files.h"

namespace lattice::weights {
namespace {

const std::filesystem::path kFixtures = LATTICE_FIXTURES;

std::string Entry(std::string_view name, int begin) {
  return "\"" + std::string(name) + R"(":{"dtype":"U8","shape":[1],"data_offsets":[)" +
         std::to_string(begin) + "," + std::to_string(begin + 1) + "]}";
}

std::string OneTensorFile(std::string_view name) { return FileOf("{" + Entry(name, 0) + "}", 1); }

std::string IndexOf(std::string_view weight_map) {
  return R"({"metadata":{"total_size":2,"x":[1.5e3,{"y":null}]},"weight_map":{)" +
         std::string(weight_map) + "}}";
}

// The error of opening `path`, or a test failure.
Error ErrorOf(const std::filesystem::path& path) {
  const auto checkpoint = Checkpoint::Open(path);
  EXPECT_FALSE(checkpoint.has_value());
  return checkpoint.has_value() ? Error{ErrorCode::kInternal, "opened"} : checkpoint.error();
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST(CheckpointTest, ReadsTinyModels) {
  for (const char* model : {"bert", "xlm_roberta", "modernbert", "qwen3_embedding"}) {
    const auto checkpoint = Checkpoint::Open(kFixtures / model);
    ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().message;
    EXPECT_GT((*checkpoint)->tensors().size(), 10u);
    for (const auto& [name, view] : (*checkpoint)->tensors()) {
      if (!IsFloat(view.dtype)) continue;
      const auto values = view.ToF32();
      ASSERT_TRUE(values.has_value()) << name;
      EXPECT_EQ(values->size(), view.n_elements()) << name;
    }
  }
}

TEST(CheckpointTest, GetComparesTheShape) {
  const TestFolder folder;
  const auto opened = Checkpoint::Open(folder.Write("any name.safetensors", OneTensorFile("a")));
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  const Checkpoint& checkpoint = **opened;
  EXPECT_TRUE(checkpoint.Get("a", std::array<std::size_t, 1>{1}).has_value());
  const auto wrong = checkpoint.Get("a", std::array<std::size_t, 2>{1, 3});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().code, ErrorCode::kCorruptData);
  EXPECT_EQ(wrong.error().message, "tensor 'a' has the shape [1], expected [1, 3]");
  const auto absent = checkpoint.Get("b", std::array<std::size_t, 1>{1});
  ASSERT_FALSE(absent.has_value());
  EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
  const auto bytes_as_floats = checkpoint.Find("a")->ToF32();
  ASSERT_FALSE(bytes_as_floats.has_value());
  EXPECT_EQ(bytes_as_floats.error().code, ErrorCode::kUnsupported);
  checkpoint.Release(checkpoint.Find("a")->bytes);
  EXPECT_EQ(std::to_integer<int>(checkpoint.Find("a")->bytes[0]), 0);
}

TEST(CheckpointTest, NonFiniteWeightsAreLegal) {
  const TestFolder folder;
  const std::string header = R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}})";
  std::string file = FileOf(header, 0);
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::denorm_min()}) {
    file.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  const auto checkpoint = Checkpoint::Open(folder.Write("model.safetensors", file));
  ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().message;
  const auto values = (*checkpoint)->Find("a")->ToF32();
  ASSERT_TRUE(values.has_value());
  EXPECT_TRUE(std::isnan((*values)[0]));
  EXPECT_EQ((*values)[1], -std::numeric_limits<float>::infinity());
  EXPECT_EQ((*values)[2], std::numeric_limits<float>::denorm_min());
}

// Reading past the end of a mapping kills the process, so a short file must be found at open.
TEST(CheckpointTest, ATruncatedFileIsFoundAtOpen) {
  const TestFolder folder;
  const auto path = folder.path() / "model.safetensors";
  std::filesystem::copy_file(kFixtures / "bert" / "model.safetensors", path);
  const auto size = std::filesystem::file_size(path);
  for (const std::uintmax_t cut : {size - 1, size / 2, std::uintmax_t{9}, std::uintmax_t{0}}) {
    std::filesystem::resize_file(path, cut);
    const Error error = ErrorOf(folder.path());
    EXPECT_EQ(error.code, ErrorCode::kCorruptData);
    EXPECT_TRUE(Contains(error.message, path.string())) << error.message;
  }
}

TEST(CheckpointTest, AMissingPathAndAPipe) {
  const TestFolder folder;
  EXPECT_EQ(ErrorOf(folder.path() / "none").code, ErrorCode::kNotFound);
  ASSERT_EQ(mkfifo((folder.path() / "model.safetensors").c_str(), 0600), 0);
  EXPECT_EQ(ErrorOf(folder.path()).code, ErrorCode::kInvalidArgument);
}

TEST(CheckpointTest, AFolderWithoutWeightsSaysWhatItHas) {
  const TestFolder folder;
  const Error empty = ErrorOf(folder.path());
  EXPECT_EQ(empty.code, ErrorCode::kNotFound);
  EXPECT_EQ(empty.message,
            "no model.safetensors or model.safetensors.index.json in " + folder.path().string());
  folder.Write("pytorch_model.bin", "x");
  folder.Write("model.onnx", "x");
  folder.Write("q4.gguf", "x");
  folder.Write("other.safetensors", "x");
  folder.Write("config.json", "{}");
  const Error error = ErrorOf(folder.path());
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_TRUE(Contains(error.message,
                       "there is 'model.onnx', 'other.safetensors', "
                       "'pytorch_model.bin', 'q4.gguf', which is not read"))
      << error.message;
}

TEST(ShardsTest, AreOneModelInAnyOrder) {
  const TestFolder folder;
  folder.Write("z.safetensors", OneTensorFile("first"));
  folder.Write("a.safetensors",
               FileOf("{" + Entry("second", 0) + "," + Entry("third", 1) + "}", 2));
  folder.Write(
      "model.safetensors.index.json",
      IndexOf(R"("third":"a.safetensors","first":"z.safetensors","second":"a.safetensors")"));
  const auto checkpoint = Checkpoint::Open(folder.path());
  ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().message;
  EXPECT_EQ((*checkpoint)->tensors().size(), 3u);
  EXPECT_EQ(std::to_integer<int>((*checkpoint)->Find("third")->bytes[0]), 1);
}

TEST(ShardsTest, ErrorsNameIndexShardAndTensor) {
  struct Case {
    const char* weight_map;
    ErrorCode code;
    const char* message;
  };
  const Case cases[] = {
      {R"("a":"one.safetensors","b":"none.safetensors")", ErrorCode::kNotFound,
       "/none.safetensors: No such file"},
      {R"("a":"one.safetensors","c":"one.safetensors")", ErrorCode::kCorruptData,
       "model.safetensors.index.json: tensor 'c' is not in 'one.safetensors'"},
      {R"("a":"one.safetensors","b":"one.safetensors","d":"two.safetensors")",
       ErrorCode::kCorruptData, "tensor 'b' is not in 'one.safetensors'"},
      {R"("a":"one.safetensors","x":"twice.safetensors")", ErrorCode::kCorruptData,
       "tensor 'a' is already in another file of the model"},
      {R"("a":"bad.safetensors")", ErrorCode::kCorruptData, "bad.safetensors: has 1 bytes"},
  };
  const TestFolder folder;
  folder.Write("one.safetensors", OneTensorFile("a"));
  folder.Write("twice.safetensors", FileOf("{" + Entry("a", 0) + "," + Entry("x", 1) + "}", 2));
  folder.Write("two.safetensors", FileOf("{" + Entry("b", 0) + "," + Entry("d", 1) + "}", 2));
  folder.Write("bad.safetensors", "x");
  for (const Case& c : cases) {
    folder.Write("model.safetensors.index.json", IndexOf(c.weight_map));
    const Error error = ErrorOf(folder.path());
    EXPECT_EQ(error.code, c.code) << error.message;
    EXPECT_TRUE(Contains(error.message, c.message)) << error.message;
    EXPECT_TRUE(Contains(error.message, "model.safetensors.index.json")) << error.message;
  }
}

TEST(SafetensorsIndexTest, BadIndexesAreRefused) {
  struct Case {
    std::string text;
    const char* message;
  };
  const auto with_file = [](std::string_view file) {
    return IndexOf("\"a\":\"" + std::string(file) + "\"");
  };
  const Case cases[] = {
      {"", "expected '{'"},
      {"[]", "expected '{'"},
      {"{}", "missing 'weight_map'"},
      {R"({"weight_map":{}})", "'weight_map' is empty"},
      {R"({"weight_map":[]})", "expected '{'"},
      {R"({"weight_map":{"a":1}})", "expected a string"},
      {R"({"weight_map":{"a":"s.safetensors"},"weight_map":{}})", "'weight_map' occurs twice"},
      {IndexOf(R"("a":"s.safetensors","a":"t.safetensors")"), "tensor 'a' occurs twice"},
      {IndexOf(R"("a":"s.safetensors")") + "x", "expected the end of the text"},
      {"{\"weight_map\":{\"\xff\":\"s.safetensors\"}}", "not valid UTF-8"},
      {R"({"metadata":)" + std::string(100'000, '[') + "}", "nested too deeply"},
      {R"({"metadata":[1,}],"weight_map":{}})", "expected a value"},
      {R"({"metadata":{"a":1],"weight_map":{}})", "expected '}'"},
      {R"({"metadata":,"weight_map":{}})", "expected a value"},
      {with_file("../s.safetensors"), "is not the plain name"},
      {with_file("/etc/s.safetensors"), "is not the plain name"},
      {with_file("a/s.safetensors"), "is not the plain name"},
      {with_file("..\\\\s.safetensors"), "is not the plain name"},
      {with_file("C:s.safetensors"), "is not the plain name"},
      {with_file("s\\n.safetensors"), "is not the plain name"},
      {with_file("s\\u0000.safetensors"), "U+0000"},
      {with_file(".."), "is not the plain name"},
      {with_file(""), "tensor 'a': '' is not the plain name"},
      {with_file(".safetensors"), "is not the plain name"},
      {with_file("pytorch_model.bin"), "'pytorch_model.bin' is not the plain name"},
      {with_file(std::string(300, 's') + ".safetensors"), "is not the plain name"},
  };
  for (const Case& c : cases) {
    const auto map = ParseSafetensorsIndex(c.text);
    ASSERT_FALSE(map.has_value()) << c.text;
    EXPECT_EQ(map.error().code, ErrorCode::kCorruptData);
    EXPECT_TRUE(Contains(map.error().message, c.message)) << map.error().message;
  }
}

}  // namespace
}  // namespace lattice::weights
