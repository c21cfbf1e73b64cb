#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <string>

#include "base/json.h"
#include "server/anthropic/messages_request.h"
#include "server/ollama/ollama_request.h"
#include "server/openai/field_reader.h"
#include "server/responses/response_request.h"

namespace lattice::server {
namespace {

using boost::json::object;

object Json(const std::string& text) { return ParseJson(text)->get_object(); }

std::string Member(const ApiResult<object>& chat, const char* key) {
  if (!chat) return "refused: " + chat.error().message;
  const auto* found = chat->if_contains(key);
  return found == nullptr ? "absent" : boost::json::serialize(*found);
}

ApiResult<object> Messages(const std::string& fields) {
  return ChatBodyOfMessages(
      Json(R"({"model":"m","max_tokens":5,"messages":[{"role":"user","content":"a"}])" +
           (fields.empty() ? "" : "," + fields) + "}"),
      /*counts_only=*/false);
}

TEST(MessagesRequestTest, FieldsHaveTheirCounterparts) {
  EXPECT_EQ(Member(Messages(""), "max_tokens"), "5");
  EXPECT_EQ(Member(Messages(R"("stop_sequences":["x"])"), "stop"), R"(["x"])");
  EXPECT_EQ(Member(Messages(R"("stop_sequences":[])"), "stop"), "absent");
  EXPECT_EQ(Member(Messages(R"("tool_choice":{"type":"any"})"), "tool_choice"), R"("required")");
  EXPECT_EQ(Member(Messages(R"("tool_choice":{"type":"tool","name":"f"})"), "tool_choice"),
            R"({"type":"function","function":{"name":"f"}})");
  const auto single = Messages(R"("tool_choice":{"type":"auto","disable_parallel_tool_use":true})");
  EXPECT_EQ(Member(single, "parallel_tool_calls"), "false");
  EXPECT_EQ(
      Member(Messages(R"("thinking":{"type":"enabled","budget_tokens":9})"), "reasoning_budget"),
      "9");
  EXPECT_EQ(Member(Messages(R"("thinking":{"type":"disabled"})"), "enable_thinking"), "false");
  EXPECT_EQ(Member(Messages(R"("tools":[{"name":"f","input_schema":{"type":"object"}}])"), "tools"),
            R"([{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}])");
}

TEST(MessagesRequestTest, MessagesOfARoleAreMerged) {
  const auto chat = ChatBodyOfMessages(
      Json(R"({"model":"m","system":"s","messages":[{"role":"user","content":"a"},)"
           R"({"role":"user","content":[{"type":"text","text":"b"},{"type":"text","text":"c"}]},)"
           R"({"role":"assistant","content":[{"type":"tool_use","id":"x","name":"f","input":{}}]},)"
           R"({"role":"user","content":[{"type":"text","text":"d"},)"
           R"({"type":"tool_result","tool_use_id":"x","content":"r"}]}]})"),
      /*counts_only=*/true);
  EXPECT_EQ(Member(chat, "messages"),
            R"([{"role":"system","content":"s"},{"role":"user","content":"a\n\nbc"},)"
            R"({"role":"assistant","content":"","tool_calls":[{"id":"x","type":"function",)"
            R"("function":{"name":"f","arguments":{}}}]},)"
            R"({"role":"tool","tool_call_id":"x","content":"r"},{"role":"user","content":"d"}])");
}

TEST(OllamaRequestTest, ResultsFindTheirCalls) {
  const auto chat = ChatBodyOfOllamaChat(
      Json(R"({"model":"m:latest","messages":[{"role":"assistant","content":"","tool_calls":[)"
           R"({"function":{"name":"f","arguments":{}}},{"function":{"name":"g","arguments":{}}}]},)"
           R"({"role":"tool","tool_name":"g","content":"1"},{"role":"tool","content":"2"}]})"));
  EXPECT_EQ(Member(chat, "model"), R"("m")");
  EXPECT_EQ(Member(chat, "stream"), "true");
  const auto& messages = chat->at("messages").get_array();
  EXPECT_EQ(messages[1].at("tool_call_id"), messages[0].at("tool_calls").at(1).at("id"));
  EXPECT_EQ(messages[2].at("tool_call_id"), messages[0].at("tool_calls").at(0).at("id"));
}

TEST(OllamaRequestTest, OptionsHaveTheirCounterparts) {
  const auto chat = [](const std::string& fields) {
    return ChatBodyOfOllamaGenerate(Json(R"({"model":"m","prompt":"p",)" + fields + "}"));
  };
  EXPECT_EQ(Member(chat(R"("options":{"num_predict":7})"), "max_tokens"), "7");
  EXPECT_EQ(Member(chat(R"("options":{"num_predict":-1})"), "max_tokens"), "absent");
  EXPECT_EQ(Member(chat(R"("options":{"top_k":7,"num_ctx":9,"mirostat":0})"), "top_k"), "7");
  EXPECT_EQ(Member(chat(R"("format":"json")"), "response_format"), R"({"type":"json_object"})");
  EXPECT_EQ(Member(chat(R"("think":"low")"), "reasoning_effort"), R"("low")");
  EXPECT_EQ(Member(chat(R"("think":false)"), "enable_thinking"), "false");
  EXPECT_EQ(chat(R"("options":{"num_predict":0})").error().param, "options.num_predict");
  EXPECT_EQ(chat(R"("options":{"tempratur":0})").error().param, "options.tempratur");
  EXPECT_EQ(chat(R"("raw":true)").error().param, "raw");
}

TEST(ResponseRequestTest, ItemsBecomeMessages) {
  ResponseStore store(4, 1000);
  const boost::json::object said{{"role", "user"}, {"content", "before"}};
  store.Put("resp_1", {.messages = {said}, .json = {}});
  const auto request = ReadResponseRequest(
      Json(R"({"model":"m","instructions":"i","previous_response_id":"resp_1","input":[)"
           R"({"type":"reasoning","content":[{"type":"reasoning_text","text":"t"}]},)"
           R"({"role":"assistant","content":[{"type":"output_text","text":"o"}]},)"
           R"({"type":"function_call","call_id":"c","name":"f","arguments":"{}"},)"
           R"({"type":"function_call_output","call_id":"c","output":"r"}]})"),
      store);
  ASSERT_TRUE(request) << request.error().message;
  const std::string kept =
      R"({"role":"user","content":"before"},)"
      R"({"role":"assistant","content":"o","reasoning_content":"t","tool_calls":[{"id":"c",)"
      R"("type":"function","function":{"name":"f","arguments":"{}"}}]},)"
      R"({"role":"tool","tool_call_id":"c","content":"r"}])";
  EXPECT_EQ(boost::json::serialize(request->conversation), "[" + kept);
  EXPECT_EQ(boost::json::serialize(request->chat.at("messages")),
            R"([{"role":"system","content":"i"},)" + kept);
}

TEST(ResponseRequestTest, WhatSystemAndDeveloperSayAtTheBeginningIsOneMessage) {
  ResponseStore store(4, 1000);
  const auto messages = [&](const std::string& body) {
    const auto request = ReadResponseRequest(Json(body), store);
    return request ? boost::json::serialize(request->chat.at("messages")) : request.error().message;
  };
  const std::string input =
      R"("input":[{"role":"developer","content":"a"},{"role":"developer","content":"b"},)"
      R"({"role":"user","content":"c"},{"role":"developer","content":"d"}]})";
  const std::string rest = R"({"role":"user","content":"c"},{"role":"developer","content":"d"}])";
  EXPECT_EQ(messages("{" + input), R"([{"role":"developer","content":"a\n\nb"},)" + rest);
  EXPECT_EQ(messages(R"({"instructions":"i",)" + input),
            R"([{"role":"system","content":"i\n\na\n\nb"},)" + rest);
}

TEST(ResponseRequestTest, FieldsHaveTheirCounterparts) {
  ResponseStore store(4, 1000);
  const auto chat = [&](const std::string& fields) -> ApiResult<object> {
    LATTICE_TRY(ResponseRequest request,
                ReadResponseRequest(Json(R"({"model":"m","input":"a",)" + fields + "}"), store));
    return request.chat;
  };
  EXPECT_EQ(Member(chat(R"("max_output_tokens":7)"), "max_completion_tokens"), "7");
  EXPECT_EQ(Member(chat(R"("text":{"format":{"type":"json_schema","name":"n","schema":{}}})"),
                   "response_format"),
            R"({"type":"json_schema","json_schema":{"schema":{},"name":"n"}})");
  EXPECT_EQ(Member(chat(R"("tool_choice":{"type":"function","name":"f"})"), "tool_choice"),
            R"({"type":"function","function":{"name":"f"}})");
  EXPECT_EQ(Member(chat(R"("reasoning":{"effort":"low"})"), "reasoning_effort"), R"("low")");
  EXPECT_EQ(chat(R"("previous_response_id":"none")").error().param, "previous_response_id");
  EXPECT_EQ(chat(R"("background":true)").error().param, "background");
}

}  // namespace
}  // namespace lattice::server
