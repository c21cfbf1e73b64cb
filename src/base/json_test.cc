#include "base/json.h"

#include <gtest/gtest.h>

namespace lattice {
namespace {

TEST(JsonTest, RefusesWhatIsNotOneDocument) {
  for (const char* text : {"", "{", "{} x", "[1,]", "nul", "{\"a\":1", "\"\\ud8\"", "\xff", "1e"}) {
    const auto value = ParseJson(text);
    ASSERT_FALSE(value.has_value()) << text;
    EXPECT_EQ(value.error().code, ErrorCode::kCorruptData) << text;
  }
}

TEST(JsonTest, DepthIsLimited) {
  const std::string deep = std::string(100000, '[');
  EXPECT_FALSE(ParseJson(deep).has_value());
  EXPECT_TRUE(ParseJson(std::string(60, '[') + std::string(60, ']')).has_value());
}

TEST(JsonTest, TypedReadsNameThePlace) {
  const auto value = ParseJson(R"({"a": {"b": [1, 2.5, "x", null, 1e30, -3]}})");
  ASSERT_TRUE(value.has_value());
  const JsonView root(*value, "f.json: ");
  const auto items = root.Get("a")->Get("b")->Array();
  ASSERT_TRUE(items.has_value());
  EXPECT_EQ(*(*items)[0].Int(0, 5), 1);
  EXPECT_EQ((*items)[1].Int(0, 5).error().message,
            "f.json: a.b[1]: expected an integer, found a number");
  EXPECT_EQ(*(*items)[1].Number(), 2.5);
  EXPECT_EQ(*(*items)[2].String(), "x");
  EXPECT_EQ(*(*items)[4].Int(0, INT64_MAX), INT64_MAX);
  EXPECT_FALSE((*items)[5].Int(0, 5).has_value());
  EXPECT_EQ(root.Get("z").error().message, "f.json: missing 'z', found an object");
  EXPECT_EQ(*root.IntOr("z", 7, 0, 9), 7);
}

}  // namespace
}  // namespace lattice
