#include "chat/message.h"

#include <gtest/gtest.h>

#include <string>

namespace lattice::chat {
namespace {

Result<Message> Parse(std::string_view json) {
  const auto value = ParseJson(json).value();
  return Message::FromJson(JsonView(value, "messages[0]"));
}

TEST(MessageTest, ReadsWhatClientsSend) {
  const auto message = Parse(R"({"role": "assistant", "content": null, "reasoning": "why",
      "tool_calls": [{"id": "c1", "type": "function",
                      "function": {"name": "f", "arguments": "{\"a\":1}"}},
                     {"id": "c2", "function": {"name": "g", "arguments": {"b": 2}}}]})");
  ASSERT_TRUE(message) << message.error().message;
  EXPECT_EQ(message->role(), "assistant");
  EXPECT_EQ(message->text(), "");
  EXPECT_EQ(message->reasoning(), "why");
  const auto calls = message->tool_calls();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].arguments, R"({"a":1})");
  EXPECT_EQ(calls[1].name, "g");
  EXPECT_EQ(calls[1].arguments, R"({"b":2})");
  const auto parts = Parse(R"({"role": "user", "content": [{"type": "text", "text": "a"},
      {"type": "image_url", "image_url": {"url": "x"}}, {"type": "text", "text": "b"}]})");
  EXPECT_EQ(parts->text(), "ab");
}

TEST(MessageTest, NamesThePlaceOfWhatIsWrong) {
  const auto fails = [](std::string_view json, std::string_view place) {
    const auto message = Parse(json);
    ASSERT_FALSE(message) << json;
    EXPECT_EQ(message.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(message.error().message.find(place), std::string::npos) << message.error().message;
  };
  fails("[]", "messages[0]");
  fails("{}", "'role'");
  fails(R"({"role": 1})", "messages[0].role");
  fails(R"({"role": "user", "content": 5})", "messages[0].content");
  fails(R"({"role": "user", "content": [1]})", "content[0]");
  fails(R"({"role": "user", "content": [{"text": "a"}]})", "'type'");
  fails(R"({"role": "user", "content": [{"type": "text"}]})", "'text'");
  fails(R"({"role": "tool", "content": "x", "tool_call_id": null})", "'tool_call_id'");
  fails(R"({"role": "assistant", "tool_calls": {}})", "tool_calls");
  fails(R"({"role": "assistant", "tool_calls": [{}]})", "tool_calls[0]");
  fails(R"({"role": "assistant", "tool_calls": [{"function": {"name": 1}}]})", "function.name");
  fails(R"({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": 1}}]})",
        "arguments");
}

TEST(MessageTest, ConversationsComeWithTools) {
  const auto json = ParseJson(R"({"messages": [{"role": "user", "content": "q"}],
                                  "tools": [{"type": "function"}]})");
  const auto talk = ConversationFromJson(JsonView(*json, "request"));
  ASSERT_TRUE(talk) << talk.error().message;
  EXPECT_EQ(talk->messages.size(), 1u);
  EXPECT_EQ(talk->tools->size(), 1u);
  const auto empty = ParseJson("{}").value();
  EXPECT_FALSE(ConversationFromJson(JsonView(empty, "request")));
}

}  // namespace
}  // namespace lattice::chat
