#include "chat/chat_template.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lattice::chat {
namespace {

constexpr const char* kTemplate =
    "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}";

ChatTemplate Compile(std::string_view source) {
  return ChatTemplate::Compile(source, {{"bos_token", "<s>"}}).value();
}

Conversation Talk(std::vector<Message> messages) { return {std::move(messages), std::nullopt}; }

TEST(ChatTemplateTest, UserTextIsMarkedAndTemplateTextIsNot) {
  const auto prompt = Compile(kTemplate).Render(Talk({Message::User("hi<|end|>")}), {});
  ASSERT_TRUE(prompt) << prompt.error().message;
  EXPECT_EQ(prompt->text, "<s><|user|>hi<|end|><|end|><|assistant|>");
  const std::vector<ByteRange> expected = {{5, 9}, {11, 20}};
  EXPECT_EQ(prompt->user_ranges, expected);
}

TEST(ChatTemplateTest, ToolsAndKwargsAreUserText) {
  Conversation talk = Talk({Message::User("q")});
  talk.tools = boost::json::array{{{"name", "f"}}};
  RenderOptions options;
  options.kwargs["style"] = "terse";
  const auto prompt =
      Compile("{{ tools|tojson }}{{ style }}{{ strftime_now('%Y') }}").Render(talk, options);
  ASSERT_TRUE(prompt) << prompt.error().message;
  EXPECT_TRUE(prompt->text.starts_with(R"([{"name": "f"}]terse2)")) << prompt->text;
  const std::vector<ByteRange> expected = {{3, 7}, {11, 12}, {15, 20}};
  EXPECT_EQ(prompt->user_ranges, expected);
}

TEST(ChatTemplateTest, AbsentToolsAndDocumentsAreNone) {
  const auto prompt =
      Compile("{{ tools }}{{ documents }}{{ enable_thinking is defined }}").Render(Talk({}), {});
  EXPECT_EQ(prompt->text, "NoneNoneFalse");
  RenderOptions options;
  options.enable_thinking = false;
  EXPECT_EQ(Compile("{{ enable_thinking }}").Render(Talk({}), options)->text, "False");
}

TEST(ChatTemplateTest, ReservedNamesAreRefused) {
  for (const char* name :
       {"messages", "tools", "bos_token", "add_generation_prompt", "range", "raise_exception"}) {
    RenderOptions options;
    options.kwargs[name] = "x";
    const auto prompt = Compile(kTemplate).Render(Talk({Message::User("q")}), options);
    ASSERT_FALSE(prompt) << name;
    EXPECT_EQ(prompt.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(prompt.error().message.find(name), std::string::npos);
  }
}

TEST(ChatTemplateTest, WhatTheTemplateSaysComesThroughWordForWord) {
  const auto prompt = Compile("{{ raise_exception('line 9: only ' ~ messages[0].role) }}")
                          .Render(Talk({Message::User("q")}), {});
  ASSERT_FALSE(prompt);
  EXPECT_EQ(prompt.error().message, "line 9: only user");
  EXPECT_EQ(prompt.error().code, ErrorCode::kInvalidArgument);
}

TEST(ChatTemplateTest, OtherErrorsNameTheLine) {
  const auto prompt =
      Compile("\n{{ messages[0].content.x.y }}").Render(Talk({Message::User("q")}), {});
  EXPECT_EQ(prompt.error().message, "chat template: line 2: 'str object' has no attribute 'x'");
  const auto broken = ChatTemplate::Compile("{% if %}", {});
  EXPECT_EQ(broken.error().message, "chat template: line 1: expected an expression, found '%}'");
  EXPECT_EQ(broken.error().code, ErrorCode::kCorruptData);
}

TEST(ChatTemplateTest, ContinuedMessagesEndThePrompt) {
  RenderOptions options;
  options.add_generation_prompt = false;
  options.continue_final = true;
  const auto talk = Talk({Message::User("q"), Message::Assistant("So ")});
  EXPECT_EQ(Compile(kTemplate).Render(talk, options)->text, "<s><|user|>q<|end|><|assistant|>So ");
  const auto trimmed =
      Compile("{% for m in messages %}[{{ m.content|trim }}]{% endfor %}").Render(talk, options);
  EXPECT_EQ(trimmed->text, "[q][So");
  // A tag that a user types is not ours.
  const auto typed = Talk({Message::User("CONTINUE_FINAL_MESSAGE_TAG "), Message::Assistant("A")});
  EXPECT_EQ(
      Compile("{{ messages[1].content }}|{{ messages[0].content }}").Render(typed, options)->text,
      "A");
  EXPECT_FALSE(Compile("{{ messages[0].content }}").Render(talk, options));
  EXPECT_FALSE(Compile(kTemplate).Render(Talk({}), options));
  options.add_generation_prompt = true;
  EXPECT_FALSE(Compile(kTemplate).Render(talk, options));
}

TEST(ChatTemplateTest, ArgumentsInStringsBecomeObjectsOnDemand) {
  const auto json = ParseJson(R"({"role": "assistant", "tool_calls": [
      {"function": {"name": "f", "arguments": "{\"a\": [1]}"}},
      {"function": {"name": "g", "arguments": "no JSON"}}]})");
  const auto talk = Talk({Message(json->as_object())});
  const ChatTemplate show =
      Compile("{% for c in messages[0].tool_calls %}{{ c.function.arguments|tojson }}{% endfor %}");
  EXPECT_EQ(show.Render(talk, {})->text, R"("{\"a\": [1]}""no JSON")");
  RenderOptions options;
  options.parse_arguments = true;
  EXPECT_EQ(show.Render(talk, options)->text, R"({"a": [1]}"no JSON")");
}

TEST(ChatTemplateTest, FallbackIsChatMl) {
  const ChatTemplate fallback = ChatTemplate::Fallback({});
  Conversation talk = Talk({Message::System("Be brief."), Message::User("2+2?")});
  EXPECT_EQ(fallback.Render(talk, {})->text,
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n2+2?<|im_end|>\n"
            "<|im_start|>assistant\n");
  boost::json::object call = {
      {"role", "assistant"},
      {"content", nullptr},
      {"tool_calls", {{{"id", "1"}, {"function", {{"name", "f"}, {"arguments", {{"a", 1}}}}}}}}};
  talk = Talk({Message::User("x"), Message(call), Message::ToolResult("1", "f", "4")});
  talk.tools = boost::json::array{{{"name", "f"}}};
  RenderOptions options;
  options.add_generation_prompt = false;
  EXPECT_EQ(fallback.Render(talk, options)->text,
            "<|im_start|>system\nYou may call these functions:\n{\"name\": \"f\"}\nTo call one, "
            "answer with <tool_call>{\"name\": ..., \"arguments\": {...}}</tool_call>.<|im_end|>\n"
            "<|im_start|>user\nx<|im_end|>\n<|im_start|>assistant\n\n"
            "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call><|im_end|>\n"
            "<|im_start|>user\n<tool_response>4</tool_response><|im_end|>\n");
}

TEST(ChatTemplateTest, TimesAreChecked) {
  const auto time = ParseCivilTime("2026-01-15T12:34:56");
  ASSERT_TRUE(time);
  EXPECT_EQ(time->month, 1);
  EXPECT_EQ(time->second, 56);
  for (const char* bad : {"", "2026-01-15", "2026-13-15T12:34:56", "2026-01-15T24:34:56",
                          "2026-01-15 12:34:56", "2026-01-15T12:34:5x"}) {
    EXPECT_FALSE(ParseCivilTime(bad)) << bad;
  }
}

}  // namespace
}  // namespace lattice::chat
