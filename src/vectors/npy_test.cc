#include "vectors/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/test_folder.h"
#include "lattice/npy_rows.h"
#include "lattice/vectors.h"
#include "vectors/csv.h"

namespace lattice::vectors {
namespace {

// A file of format 1 with `n_data` bytes of data.
std::string File(const std::string& dictionary, std::size_t n_data) {
  std::string header = dictionary;
  header.resize(117, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size());
  file += '\0';
  return file + header + std::string(n_data, '\x01');
}

std::string Dictionary(const std::string& type, const std::string& shape,
                       const std::string& fortran = "False") {
  return "{'descr': " + type + ", 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
}

struct Parsed {
  AlignedBuffer memory;
  Result<NpyMatrix> matrix = Error{ErrorCode::kInternal, "not parsed"};
};
Parsed Parse(const std::string& file) {
  Parsed out{AlignedBuffer(file.size() + 1)};
  const auto bytes = out.memory.As<std::byte>().first(file.size());
  std::memcpy(bytes.data(), file.data(), file.size());
  out.matrix = ParseNpy(bytes);
  return out;
}

TEST(NpyTest, KnownTypes) {
  const struct {
    const char* type;
    Dtype dtype;
    std::size_t bytes;
  } types[] = {{"'<f4'", Dtype::kF32, 4},
               {"'<f2'", Dtype::kF16, 2},
               {"'|i1'", Dtype::kI8, 1},
               {"'|u1'", Dtype::kU8, 1}};
  for (const auto& [type, dtype, bytes] : types) {
    const auto [memory, matrix] = Parse(File(Dictionary(type, "(3, 5)"), 15 * bytes));
    ASSERT_TRUE(matrix) << type;
    EXPECT_EQ(matrix->dtype, dtype);
    EXPECT_EQ(matrix->n_rows, 3u);
    EXPECT_EQ(matrix->dims, 5u);
    EXPECT_EQ(matrix->data.size(), 15 * bytes);
  }
  EXPECT_TRUE(Parse(File(Dictionary("'<f4'", "(0, 5)"), 0)).matrix);
}

TEST(NpyTest, OtherFilesAreErrors) {
  const struct {
    std::string file;
    ErrorCode code;
  } files[] = {
      {"", ErrorCode::kCorruptData},
      {"\x93NUMPY", ErrorCode::kCorruptData},
      {"not numpy at all, but long", ErrorCode::kCorruptData},
      {std::string("\x93NUMPY\x04\x00\x02\x00{}", 12), ErrorCode::kCorruptData},
      {std::string("\x93NUMPY\x01\x00\xFF\xFF{}", 12), ErrorCode::kCorruptData},
      {std::string("\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF", 12), ErrorCode::kCorruptData},
      {File("{}", 0), ErrorCode::kUnsupported},
      {File(Dictionary("'<f8'", "(3, 5)"), 120), ErrorCode::kUnsupported},
      {File(Dictionary("'>f4'", "(3, 5)"), 60), ErrorCode::kUnsupported},
      {File(Dictionary("'<f4'", "(3, 5)", "True"), 60), ErrorCode::kUnsupported},
      {File(Dictionary("'<f4'", "(15,)"), 60), ErrorCode::kCorruptData},
      {File(Dictionary("'<f4'", "(3, 5, 1)"), 60), ErrorCode::kCorruptData},
      {File(Dictionary("'<f4'", "()"), 4), ErrorCode::kCorruptData},
      {File(Dictionary("'<f4'", "(-3, 5)"), 60), ErrorCode::kCorruptData},
      {File(Dictionary("'<f4'", "(3, 0)"), 0), ErrorCode::kCorruptData},
      {File(Dictionary("'<f4'", "(3, 5)"), 59), ErrorCode::kCorruptData},
      {File(Dictionary("'<f4'", "(3, 5)"), 61), ErrorCode::kCorruptData},
      {File(Dictionary("'<f4'", "(4611686018427387904, 4)"), 0), ErrorCode::kCorruptData},
      {File(Dictionary("'<f4'", "(99999999999999999999, 4)"), 0), ErrorCode::kCorruptData},
      {File("{'descr': '<f4', 'fortran_order': False, }", 0), ErrorCode::kCorruptData},
  };
  for (const auto& [file, code] : files) {
    const auto parsed = Parse(file);
    ASSERT_FALSE(parsed.matrix) << file;
    EXPECT_EQ(parsed.matrix.error().code, code) << file;
  }
  std::string shifted = File(Dictionary("'<f4'", "(3, 5)"), 61);
  shifted[8] = static_cast<char>(shifted[8] + 1);
  EXPECT_EQ(Parse(shifted).matrix.error().code, ErrorCode::kUnsupported);
}

TEST(CsvTest, NumbersAndNamesAreRead) {
  const auto matrix = ParseCsv("\xEF\xBB\xBF\"a\", b ,c\r\n\n 1,-2.5,+3e-1\r\n4, \"5\" ,6");
  ASSERT_TRUE(matrix) << matrix.error().message;
  EXPECT_EQ(matrix->names, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(matrix->n_rows, 2u);
  EXPECT_EQ(matrix->values, (std::vector<float>{1, -2.5f, 0.3f, 4, 5, 6}));
  EXPECT_TRUE(ParseCsv("1\n2\n")->names.empty());
}

TEST(CsvTest, WhatIsNoNumberIsAnErrorWithItsPlace) {
  const struct {
    std::string text, message;
  } texts[] = {
      {"", "no rows"},
      {"\n\n", "no rows"},
      {"a,b\n", "no rows"},
      {"a,b\nc,d\n1,2\n", "line 2: column 1"},
      {"1,x\n2,3\n", "line 1: column 2"},
      {"1,2\n3\n", "line 2: 1 columns instead of 2"},
      {"1,2\n3,4,\n", "line 2: 3 columns"},
      {"a,b\n1,2,3\n", "line 2: 3 columns"},
      {"1,\n", "line 1: column 2"},
      {"1,nan\n", "line 1: column 2"},
      {"1,2\n1,inf\n", "line 2: column 2"},
      {"1e39\n", "line 1: column 1"},
      {"0x10\n1\n0x10\n", "line 1"},
      {std::string("1,2\n1\0,2\n", 9), "line 2: column 1"},
      {"1 2\n3\n1 2\n", "line 1"},
      {"1;2\n1\n", "line 1"},
  };
  for (const auto& [text, message] : texts) {
    const auto matrix = ParseCsv(text);
    ASSERT_FALSE(matrix) << text;
    EXPECT_EQ(matrix.error().code, ErrorCode::kCorruptData);
    EXPECT_NE(matrix.error().message.find(message), std::string::npos) << matrix.error().message;
  }
}

TEST(NpyRowsTest, RowsAreSearchedWhereTheyLie) {
  const std::vector<float> values = {1, 0, 0, 1, 3, 4};
  std::string file = File(Dictionary("'<f4'", "(3, 2)"), values.size() * sizeof(float));
  std::memcpy(file.data() + file.size() - values.size() * sizeof(float), values.data(),
              values.size() * sizeof(float));
  const TestFolder folder;
  std::vector<NpyRows> copies;
  {
    const auto rows = NpyRows::Open(folder.Write("rows.npy", file));
    ASSERT_TRUE(rows) << rows.error().message;
    copies.push_back(*rows);
  }
  const NpyRows& rows = copies.front();
  EXPECT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows.dims(), 2u);
  const std::vector<float> query = {0, 0};
  const auto best = VectorOps().TopK(query, rows.values(), 2, Metric::kEuclidean, 2);
  ASSERT_TRUE(best);
  EXPECT_EQ(*best, (std::vector<Neighbour>{{0, 1.0f}, {1, 1.0f}}));
}

TEST(NpyRowsTest, OtherFilesAreErrorsThatNameThem) {
  const TestFolder folder;
  const auto fails = [&](const std::string& content, ErrorCode code) {
    const auto rows = NpyRows::Open(folder.Write("bad.npy", content));
    ASSERT_FALSE(rows);
    EXPECT_EQ(rows.error().code, code);
    EXPECT_NE(rows.error().message.find("bad.npy"), std::string::npos) << rows.error().message;
  };
  const std::string good = File(Dictionary("'<f4'", "(3, 2)"), 24);
  fails(good.substr(0, good.size() - 1), ErrorCode::kCorruptData);
  fails(good + "x", ErrorCode::kCorruptData);
  fails("", ErrorCode::kCorruptData);
  fails(File(Dictionary("'<f2'", "(3, 2)"), 12), ErrorCode::kUnsupported);
  fails(File(Dictionary("'<f8'", "(3, 2)"), 48), ErrorCode::kUnsupported);
  EXPECT_EQ(NpyRows::Open(folder.path() / "none.npy").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace lattice::vectors
