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

TEST(JsonTest, AHalfOfASurrogatePairIsAReplacement) {
  for (const auto& [json, text] : std::vector<std::pair<std::string, std::string>>{
           {R"("\ud83d")", "\uFFFD"},
           {R"("\ud83d\udc4d")", "\U0001F44D"},
           {R"("a\udc4d\ud83d")", "a\uFFFD\uFFFD"},
           {R"("\uD83D\ud83d\udc4d\n")", "\uFFFD\U0001F44D\n"},
           {R"("\ud83dx\u0041")", "\uFFFDxA"},
           {R"("\\ud83d")", "\\ud83d"}}) {
    const auto value = ParseJson(json);
    ASSERT_TRUE(value) << json << ": " << value.error().message;
    EXPECT_EQ(value->get_string(), text) << json;
  }
  EXPECT_EQ(ParseJson(R"({"\ud83d": "\ud83d", x})").error().message.find("JSON at byte 21"), 0u);
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
