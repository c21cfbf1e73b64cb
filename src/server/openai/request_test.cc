#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "server/openai/base64.h"
#include "server/openai/chat_request.h"
#include "server/openai/completion_request.h"
#include "server/openai/field_reader.h"
#include "server/openai/generation_fields.h"

namespace lattice::server {
namespace {

constexpr std::size_t kVocab = 100;

ApiResult<ChatRequest> Chat(const std::string& fields) {
  LATTICE_TRY(const boost::json::object body, ParseBody("{" + fields + "}"));
  return ReadChatRequest(body, kVocab, {.calls = chat::CallForm::kHermes});
}

const std::string kHello = R"("messages":[{"role":"user","content":"hello"}])";

/// The field that a complaint names; "" for a good request.
std::string BadField(const std::string& fields) {
  const auto request = Chat(kHello + "," + fields);
  if (request) return "";
  EXPECT_EQ(request.error().status, 400);
  EXPECT_FALSE(request.error().code.empty());
  EXPECT_NE(request.error().param, "") << request.error().message;
  return request.error().param;
}

TEST(RequestTest, HostileBodiesAreRefused) {
  for (const std::string& body : {std::string(),
                                  std::string("null"),
                                  std::string("[]"),
                                  std::string("\"{}\""),
                                  std::string("{}{}"),
                                  std::string("{"),
                                  std::string("{\"a\":1,}"),
                                  std::string("{'a':1}"),
                                  std::string("\xef\xbb\xbf{}"),
                                  std::string("{\"a\":NaN}"),
                                  std::string("{\"a\":Infinity}"),
                                  std::string("{\"a\":01}"),
                                  std::string("{\"a\":\"\xff\"}"),
                                  std::string("{\"a\":\"\xc0\x80\"}"),
                                  std::string("{\"a\":\"\xed\xa0\x80\"}"),
                                  std::string("{\"a\":\"\\x\"}"),
                                  std::string("{\"a\":\"\\u12\"}"),
                                  std::string("{\"a\":\"\n\"}"),
                                  std::string("{\"a\":1}\0", 8),
                                  std::string(100'000, '['),
                                  "{\"a\":" + std::string(100'000, '['),
                                  [] {
                                    std::string deep;
                                    for (int i = 0; i < 100'000; ++i) deep += "{\"a\":";
                                    return deep;
                                  }()}) {
    const auto parsed = ParseBody(body);
    ASSERT_FALSE(parsed) << body.substr(0, 50);
    EXPECT_EQ(parsed.error().status, 400);
  }
  EXPECT_TRUE(ParseBody("{\"a\":" + std::string(60, '[') + std::string(60, ']') + "}"));
  EXPECT_FALSE(ParseBody("{\"a\":" + std::string(70, '[') + std::string(70, ']') + "}"));
}

TEST(RequestTest, LoneSurrogatesAreReplaced) {
  const auto text = [](const std::string& escaped) {
    const auto parsed = ParseBody("{\"a\":\"" + escaped + "\"}");
    EXPECT_TRUE(parsed) << escaped;
    return parsed ? std::string(parsed->at("a").get_string()) : "refused";
  };
  EXPECT_EQ(text("\\ud83d\\udc4d"), "\U0001F44D");
  EXPECT_EQ(text("\\ud83d"), "\ufffd");
  EXPECT_EQ(text("\\udc4d"), "\ufffd");
  EXPECT_EQ(text("\\ud83d!"), "\ufffd!");
  EXPECT_EQ(text("\\ud83d\\ud83d\\udc4d"), "\ufffd\U0001F44D");
  EXPECT_EQ(text("\\udc4d\\ud83d"), "\ufffd\ufffd");
  EXPECT_EQ(text("\\ud83d\\u0041"), "\ufffdA");
  EXPECT_EQ(text("\\\\ud83d"), "\\ud83d");
  EXPECT_EQ(text("\\\"\\uD83D\\n"), "\"\ufffd\n");
}

TEST(RequestTest, NumbersHaveEdges) {
  struct Field {
    const char* name;
    const char* good[3];
    const char* bad[3];
  };
  const Field fields[] = {
      {"temperature", {"0", "2", "1e-9"}, {"-0.001", "2.001", "1e30"}},
      {"top_p", {"0", "1", "0.5"}, {"-1", "1.01", "2"}},
      {"min_p", {"0", "1", "0.5"}, {"-1", "1.01", "2"}},
      {"typical_p", {"0", "1", "0.5"}, {"-1", "1.01", "2"}},
      {"top_k", {"-1", "0", "2147483647"}, {"-2", "2147483648", "1.5"}},
      {"presence_penalty", {"-2", "2", "0"}, {"-2.1", "2.1", "1e300"}},
      {"frequency_penalty", {"-2", "2", "0"}, {"-2.1", "2.1", "1e300"}},
      {"repetition_penalty", {"0.01", "100", "1"}, {"0", "101", "-1"}},
      {"seed",
       {"-9223372036854775808", "9223372036854775807", "0"},
       {"9223372036854775808", "18446744073709551615", "0.5"}},
      {"max_tokens", {"1", "2147483647", "5.0"}, {"0", "-1", "2147483648"}},
      {"max_completion_tokens", {"1", "2147483647", "1e3"}, {"0", "-1", "2147483648"}},
      {"n", {"1", "128", "2"}, {"0", "129", "-1"}},
  };
  for (const Field& field : fields) {
    const std::string key = "\"" + std::string(field.name) + "\":";
    for (const char* value : field.good) EXPECT_EQ(BadField(key + value), "") << key << value;
    for (const char* value : field.bad) {
      EXPECT_EQ(BadField(key + value), field.name) << key << value;
    }
    for (const char* value : {"\"1\"", "true", "[1]", "{}", "1e999", "-1e999"}) {
      const auto request = Chat(kHello + "," + key + value);
      EXPECT_FALSE(request) << key << value;
    }
    EXPECT_EQ(BadField(key + "null"), "") << key;
  }
}

TEST(RequestTest, OtherFieldsAreChecked) {
  for (
      const char* bad :
      {R"("stop":"")", R"("stop":["a",""])", R"("stop":[1])", R"("stop":{})", R"("stop":7)",
       R"("stop":["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17"])"}) {
    EXPECT_EQ(BadField(bad), "stop") << bad;
  }
  for (const char* bad :
       {R"("logit_bias":{"100":1})", R"("logit_bias":{"-1":1})", R"("logit_bias":{"a":1})",
        R"("logit_bias":{"":1})", R"("logit_bias":{"1":101})", R"("logit_bias":{"1":"1"})",
        R"("logit_bias":{"1":1e999})", R"("logit_bias":{"1 ":1})", R"("logit_bias":[1])",
        R"("logit_bias":{"99999999999999999999":1})"}) {
    const auto request = Chat(kHello + "," + bad);
    EXPECT_FALSE(request) << bad;
  }
  EXPECT_EQ(BadField(R"("logit_bias":{"99":-100,"0":100})"), "");
  EXPECT_EQ(BadField(R"("stream":"yes")"), "stream");
  EXPECT_EQ(BadField(R"("stream_options":{"include_usage":true})"), "stream_options");
  EXPECT_EQ(BadField(R"("stream":true,"stream_options":{"include_usage":1})"),
            "stream_options.include_usage");
  EXPECT_EQ(BadField(R"("top_logprobs":3)"), "top_logprobs");
  EXPECT_EQ(BadField(R"("logprobs":true,"top_logprobs":21)"), "top_logprobs");
  EXPECT_EQ(BadField(R"("logprobs":5)"), "logprobs");
  EXPECT_EQ(BadField(R"("reasoning_effort":"huge")"), "reasoning_effort");
  EXPECT_EQ(BadField(R"("chat_template_kwargs":{"enable_thinking":"no"})"),
            "chat_template_kwargs.enable_thinking");
  EXPECT_EQ(BadField(R"("continue_final_message":true)"), "continue_final_message");
  EXPECT_EQ(BadField(R"("temprature":0)"), "temprature");
  EXPECT_EQ(BadField(R"("user":"me","metadata":{"a":"b"},"store":false)"), "");
}

TEST(RequestTest, WhatIsNotThereIsRefusedUnlessItAsksForNothing) {
  EXPECT_EQ(BadField(R"("response_format":{"type":"json_object"})"), "");
  EXPECT_EQ(BadField(R"("response_format":{"type":"xml"})"), "response_format");
  EXPECT_EQ(BadField(R"("response_format":{"type":"json_schema"})"), "response_format");
  EXPECT_EQ(BadField(R"("response_format":{"type":"json_schema","json_schema":{"schema":1}})"),
            "response_format");
  EXPECT_EQ(BadField(R"("response_format":{"type":"text"})"), "");
  EXPECT_EQ(BadField(R"("tools":[],"tool_choice":"auto")"), "");
  EXPECT_EQ(BadField(R"("tool_choice":"required")"), "tool_choice");
  EXPECT_EQ(BadField(R"("modalities":["text"])"), "");
  EXPECT_EQ(BadField(R"("modalities":["audio"])"), "modalities");
  EXPECT_EQ(BadField(R"("grammar":"root ::= \"a\"","guided_regex":"a")"), "guided_regex");
  EXPECT_EQ(BadField(R"("guided_choice":[1])"), "guided_choice");
  EXPECT_EQ(BadField(R"("structured_outputs":{"regex":"a","choice":["b"]})"),
            "structured_outputs.choice");
  EXPECT_EQ(BadField(R"("structured_outputs":{"lark":"start: a"})"), "structured_outputs.lark");
  EXPECT_EQ(BadField(R"("stop_token_ids":[100])"), "stop_token_ids");
  EXPECT_EQ(BadField(R"("min_tokens":0,"stop_token_ids":[],"guided_json":null)"), "");
  EXPECT_EQ(BadField(R"("min_tokens":5)"), "");
  EXPECT_EQ(BadField(R"("min_tokens":-1)"), "min_tokens");
  EXPECT_EQ(BadField(R"("min_tokens":5,"guided_regex":"a")"), "min_tokens");
}

TEST(RequestTest, MessagesAreChecked) {
  for (const char* bad :
       {R"("messages":[])", R"("messages":null)", R"("messages":"hi")", R"("messages":[1])", "",
        R"("messages":[{}])", R"("messages":[{"role":"robot","content":"a"}])",
        R"("messages":[{"role":"user"}])", R"("messages":[{"role":"user","content":null}])",
        R"("messages":[{"role":"user","content":5}])",
        R"("messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}])",
        R"("messages":[{"role":"user","content":[{"type":"text"}]}])",
        R"("messages":[{"role":"tool","content":"a","tool_call_id":null}])"}) {
    const auto request = Chat(bad);
    ASSERT_FALSE(request) << bad;
    EXPECT_TRUE(request.error().param.starts_with("messages")) << request.error().message;
  }
  const auto good =
      Chat(R"("messages":[{"role":"developer","content":"d"},{"role":"assistant","content":null},)"
           R"({"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}])");
  ASSERT_TRUE(good) << good.error().message;
  const auto& messages = good->conversation.messages;
  EXPECT_EQ(messages[0].role(), "system");
  EXPECT_EQ(messages[1].text(), "");
  EXPECT_EQ(messages[2].json().at("content"), "ab");
}

constexpr const char* kTool =
    R"({"type":"function","function":{"name":"f","description":null,"parameters":null}})";

TEST(RequestTest, ToolsAreChecked) {
  const std::string tools = "\"tools\":[" + std::string(kTool) + "]";
  const auto good = Chat(kHello + "," + tools + R"(,"parallel_tool_calls":false)");
  ASSERT_TRUE(good) << good.error().message;
  ASSERT_TRUE(good->conversation.tools);
  EXPECT_FALSE(good->parallel_calls);
  EXPECT_EQ(boost::json::serialize(*good->conversation.tools),
            R"([{"type":"function","function":{"name":"f",)"
            R"("parameters":{"type":"object","properties":{}}}}])");
  EXPECT_FALSE(Chat(kHello + "," + tools + R"(,"tool_choice":"none")")->conversation.tools);
  EXPECT_FALSE(Chat(kHello + R"(,"tools":[])")->conversation.tools);
  EXPECT_EQ(BadField(R"("tools":[{"type":"function","function":{"name":"f","description":null,)"
                     R"("parameters":{"type":"object"}}}])"),
            "");
  const std::pair<const char*, const char*> bad[] = {
      {R"("tools":{})", "tools"},
      {R"("tools":[1])", "tools[0].type"},
      {R"("tools":[{"type":"web_search"}])", "tools[0].type"},
      {R"("tools":[{"type":"function"}])", "tools[0].function"},
      {R"("tools":[{"type":"function","function":{}}])", "tools[0].function.name"},
      {R"("tools":[{"type":"function","function":{"name":"a b"}}])", "tools[0].function.name"},
      {R"("tools":[{"type":"function","function":{"name":"f","parameters":[]}}])",
       "tools[0].function.parameters"},
      {R"("tools":[{"type":"function","function":{"name":"f"}},)"
       R"({"type":"function","function":{"name":"f"}}])",
       "tools[1].function.name"},
      {R"("tools":[{"type":"function","function":{"name":"f","strict":"yes"}}])",
       "tools[0].function.strict"},
      {R"("tool_choice":"always")", "tool_choice"},
      {R"("tool_choice":{"type":"function","function":{"name":"f"}})", "tool_choice"}};
  for (const auto& [fields, param] : bad) EXPECT_EQ(BadField(fields), param) << fields;
  EXPECT_TRUE(Chat(kHello + "," + tools + R"(,"tool_choice":"required")")->must_call);
  EXPECT_TRUE(
      Chat(kHello + "," + tools + R"(,"tool_choice":{"type":"function","function":{"name":"f"}})")
          ->must_call);
  EXPECT_EQ(BadField(tools + R"(,"tool_choice":"required","guided_regex":"a")"), "tool_choice");
  EXPECT_EQ(BadField(tools + R"(,"tool_choice":{"type":"function","function":{"name":"g"}})"),
            "tool_choice");
  const auto body = ParseBody("{" + kHello + "," + tools + "}");
  const auto refused = ReadChatRequest(*body, kVocab, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().param, "tools");
}

TEST(RequestTest, CallsOfStrictToolsAreHeldToThem) {
  const auto tools = [](const char* strict) {
    return kHello + R"(,"tools":[{"type":"function","function":{"name":"f","parameters":)" +
           R"({"type":"object"},"strict":)" + strict + "}}]";
  };
  const auto held = Chat(tools("true"));
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_TRUE(held->holds_calls);
  EXPECT_FALSE(held->must_call);
  ASSERT_TRUE(held->generation.structure);
  EXPECT_EQ(held->generation.structure->param, "tools");
  EXPECT_TRUE(decoding::CompileGrammar(held->generation.structure->text));
  EXPECT_FALSE(Chat(tools("false"))->holds_calls);
  EXPECT_FALSE(Chat(tools("true") + R"(,"tool_choice":"none")")->holds_calls);
  EXPECT_TRUE(Chat(tools("false") + R"(,"tool_choice":"required")")->holds_calls);
  const auto with_format = Chat(tools("true") + R"(,"guided_regex":"a")");
  EXPECT_FALSE(with_format->holds_calls);
  EXPECT_EQ(with_format->generation.structure->param, "guided_regex");
  using chat::CallForm;
  for (const CallForm form : {CallForm::kHermes, CallForm::kXml, CallForm::kLlama, CallForm::kGemma,
                              CallForm::kMistral}) {
    const auto request = ReadChatRequest(*ParseBody("{" + tools("true") + "}"), kVocab,
                                         ChatAbilities{.calls = form, .control_marks = {"[ARGS]"}});
    ASSERT_TRUE(request && request->generation.structure);
    const auto& text = request->generation.structure->text;
    EXPECT_TRUE(decoding::CompileGrammar(text));
    EXPECT_NE(text.text.find(R"("control_marks":["[ARGS]"])"), std::string::npos);
  }
}

TEST(RequestTest, CallsInTheHistoryHaveIds) {
  const auto conversation = [](const std::string& call_id, const std::string& result_id) {
    return R"("messages":[{"role":"user","content":"a"},{"role":"assistant","refusal":null,)"
           R"("reasoning":"hm","tool_calls":[{)" +
           call_id + R"("type":"function","function":{"name":"f","arguments":""}}]},)" +
           R"({"role":"tool",)" + result_id + R"("content":[{"type":"text","text":"5"}]}])";
  };
  const auto good = Chat(conversation(R"("id":"x",)", R"("tool_call_id":"x",)"));
  ASSERT_TRUE(good) << good.error().message;
  const boost::json::object& answer = good->conversation.messages[1].json();
  EXPECT_EQ(answer.at("content"), "");
  EXPECT_EQ(answer.at("reasoning_content"), "hm");
  EXPECT_FALSE(answer.contains("refusal"));
  EXPECT_EQ(good->conversation.messages[1].tool_calls()[0].arguments, "{}");
  EXPECT_EQ(good->conversation.messages[2].text(), "5");
  for (const char* id : {"", R"("id":null,)", R"("id":"",)"}) {
    const auto request = Chat(conversation(id, R"("tool_call_id":"x",)"));
    ASSERT_FALSE(request) << id;
    EXPECT_EQ(request.error().param, "messages[1].tool_calls[0].id");
  }
  for (const char* id :
       {"", R"("tool_call_id":null,)", R"("tool_call_id":"",)", R"("tool_call_id":"y",)"}) {
    const auto request = Chat(conversation(R"("id":"x",)", id));
    ASSERT_FALSE(request) << id;
    EXPECT_EQ(request.error().param, "messages[2].tool_call_id");
  }
  const auto body =
      ParseBody("{" + conversation(R"("id":"call_1",)", R"("tool_call_id":"call_1",)") + "}");
  const auto shortened = ReadChatRequest(*body, kVocab, {.short_call_ids = true});
  ASSERT_TRUE(shortened);
  const auto& messages = shortened->conversation.messages;
  EXPECT_EQ(messages[2].tool_call_id().size(), 9u);
  EXPECT_EQ(messages[1].tool_calls()[0].id, messages[2].tool_call_id());
  EXPECT_EQ(ShortCallId("abcDEF123"), "abcDEF123");
}

TEST(RequestTest, ThinkingHasABudget) {
  EXPECT_EQ(Chat(kHello + R"(,"reasoning_budget":5)")->thinking_budget, 5u);
  EXPECT_EQ(Chat(kHello + R"(,"thinking_budget":0)")->thinking_budget, 0u);
  EXPECT_FALSE(Chat(kHello + R"(,"thinking_budget":-1)")->thinking_budget);
  EXPECT_EQ(BadField(R"("reasoning_budget":-2)"), "reasoning_budget");
  EXPECT_EQ(BadField(R"("thinking_budget":"low")"), "thinking_budget");
}

TEST(RequestTest, RequestsWinOverRecommendations) {
  engine::GenerationDefaults defaults;
  defaults.temperature = 0.6f;
  defaults.top_k = 20;
  const auto request = Chat(kHello + R"(,"top_k":5,"seed":-1,"top_p":0,"max_tokens":7,)" +
                            R"("max_completion_tokens":8)");
  ASSERT_TRUE(request);
  const auto options = OptionsFor(request->generation, defaults, /*random_seed=*/77, /*choice=*/2);
  EXPECT_EQ(options.sampling.temperature, 0.6f);
  EXPECT_EQ(options.sampling.top_k, 5u);
  EXPECT_GT(options.sampling.top_p, 0.0f);
  EXPECT_EQ(options.sampling.seed, 1u);
  EXPECT_EQ(options.max_tokens, 8u);
  EXPECT_TRUE(decoding::CheckSamplingOptions(options.sampling, kVocab));
}

TEST(RequestTest, InputsOfAllFormsAreRead) {
  const auto read = [](const std::string& prompt) -> ApiResult<CompletionRequest> {
    LATTICE_TRY(const boost::json::object body, ParseBody("{\"prompt\":" + prompt + "}"));
    return ReadCompletionRequest(body, kVocab, kVocab);
  };
  using Ids = std::vector<TokenId>;
  EXPECT_EQ(read("\"a\"")->prompts, (std::vector<TextOrIds>{"a"}));
  EXPECT_EQ(read("[\"a\",\"\"]")->prompts, (std::vector<TextOrIds>{"a", ""}));
  EXPECT_EQ(read("[0,99]")->prompts, (std::vector<TextOrIds>{Ids{0, 99}}));
  EXPECT_EQ(read("[[1],[2,3]]")->prompts, (std::vector<TextOrIds>{Ids{1}, Ids{2, 3}}));
  for (const char* bad :
       {"null", "[]", "[[]]", "[1,\"a\"]", "[\"a\",1]", "[[1],\"a\"]", "[100]", "[-1]", "[1.5]",
        "[[1],[100]]", "{}", "true", "[null]", "[[\"a\"]]", "[1e300]", "[18446744073709551615]"}) {
    const auto request = read(bad);
    ASSERT_FALSE(request) << bad;
    EXPECT_EQ(request.error().param, "prompt");
  }
  EXPECT_EQ(read("\"a\"")->generation.max_tokens, 16u);
}

TEST(RequestTest, NamesAreTexts) {
  EXPECT_TRUE(Chat(R"("messages":[{"role":"user","content":"a","name":null}])"));
  const auto request = Chat(R"("messages":[{"role":"user","content":"a","name":{}}])");
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().param, "messages[0].name");
}

TEST(RequestTest, IdsWithoutATokenAreReadAndNotEchoed) {
  const auto body = ParseBody(R"({"prompt":[1,90]})"),
             echoed = ParseBody(R"({"prompt":[1,90],"echo":true})");
  ASSERT_TRUE(ReadCompletionRequest(*body, /*n_tokens=*/90, kVocab));
  const auto request = ReadCompletionRequest(*echoed, /*n_tokens=*/90, kVocab);
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().param, "prompt");
  EXPECT_EQ(request.error().code, "invalid_value");
}

TEST(Base64Test, EncodesAsTheStandardsExamples) {
  const auto encode = [](std::string_view text) {
    return EncodeBase64(std::as_bytes(std::span(text)));
  };
  EXPECT_EQ(encode(""), "");
  EXPECT_EQ(encode("f"), "Zg==");
  EXPECT_EQ(encode("fo"), "Zm8=");
  EXPECT_EQ(encode("foo"), "Zm9v");
  EXPECT_EQ(encode("foob"), "Zm9vYg==");
  EXPECT_EQ(encode("fooba"), "Zm9vYmE=");
  EXPECT_EQ(encode("foobar"), "Zm9vYmFy");
}

}  // namespace
}  // namespace lattice::server
