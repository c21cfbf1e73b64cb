#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "chat/chat_template.h"
#include "chat/reasoning.h"

namespace lattice::chat {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFileBytes = std::size_t{16} << 20;

std::string Contents(const fs::path& file) { return ReadFile(file, kMaxFileBytes).value(); }

boost::json::value Json(const fs::path& file) { return ParseJson(Contents(file)).value(); }

std::string Str(const boost::json::value& value) { return std::string(value.as_string().c_str()); }

Result<RenderedPrompt> RenderCase(const ChatTemplate& compiled, const boost::json::object& test,
                                  const jinja::CivilTime& now) {
  Conversation conversation;
  for (const auto& message : test.at("messages").as_array()) {
    conversation.messages.emplace_back(message.as_object());
  }
  RenderOptions options;
  options.now = now;
  options.add_generation_prompt = false;
  for (const auto& [key, value] : test.at("kwargs").as_object()) {
    if (key == "tools") {
      conversation.tools = value.as_array();
    } else if (key == "add_generation_prompt") {
      options.add_generation_prompt = value.as_bool();
    } else if (key == "continue_final_message") {
      options.continue_final = value.as_bool();
    } else {
      options.kwargs[key] = value;
    }
  }
  return compiled.Render(conversation, options);
}

/// Which templates speak of thinking, by the marker that opens it.
TEST(ChatTemplateReferenceTest, ReasoningMarkersAreFoundInRealTemplates) {
  const std::string fixtures = LATTICE_REFERENCE_FIXTURES;
  if (fixtures.empty()) GTEST_SKIP() << "LATTICE_REFERENCE_FIXTURES is not set";
  const std::map<std::string, std::string> thinking = {
      {"command_r7b_tools", "<|START_THINKING|>"},
      {"deepseek_r1_distill", "<think>"},
      {"deepseek_v3_1", "<think>"},
      {"gemma4", "<|channel>thought"},
      {"glm4_6", "<think>"},
      {"gpt_oss", "<|channel|>analysis<|message|>"},
      {"lfm2_5", "<think>"},
      {"qwen3", "<think>"},
      {"qwen3_5", "<think>"},
      {"qwq", "<think>"},
      {"smollm3", "<think>"}};
  for (const auto& entry : fs::directory_iterator(fs::path(fixtures) / "chat_templates")) {
    if (entry.path().extension() != ".jinja") continue;
    const auto markers = FindReasoningMarkers(Contents(entry.path()));
    const auto want = thinking.find(entry.path().stem());
    EXPECT_EQ(markers ? markers->open : "", want == thinking.end() ? "" : want->second)
        << entry.path();
  }
}

std::string RenderedRow(const fs::path& golden, std::string_view id) {
  const boost::json::value json = Json(golden);
  for (const auto& row : json.at("rows").as_array()) {
    if (Str(row.at("id")) == id) return Str(row.at("rendered"));
  }
  ADD_FAILURE() << golden << " has no row " << id;
  return "";
}

/// The reference's own text of an answer with thinking, split again.
TEST(ChatTemplateReferenceTest, RenderedThinkingIsSplitOff) {
  const std::string fixtures = LATTICE_REFERENCE_FIXTURES;
  if (fixtures.empty()) GTEST_SKIP() << "LATTICE_REFERENCE_FIXTURES is not set";
  const fs::path folder = fs::path(fixtures) / "chat_templates";
  for (const auto& [name, opens] :
       {std::pair("gemma4", false), std::pair("qwen3", false), std::pair("qwen3_5", true)}) {
    SCOPED_TRACE(name);
    const auto markers = FindReasoningMarkers(Contents(folder / (name + std::string(".jinja"))));
    ASSERT_TRUE(markers);
    const fs::path golden = folder / (name + std::string(".json"));
    const std::string text = RenderedRow(golden, "reasoning_before_call");
    ReasoningSplitter splitter(markers, false);
    const std::string reasoning = "Let me count: s-t-r-a-w... three.";
    const std::size_t at = text.find(markers->open + "\n" + reasoning);
    ASSERT_NE(at, text.npos);
    EXPECT_EQ(splitter.Push(text.substr(at)).reasoning, reasoning);
    const std::string prompt = RenderedRow(golden, "thinking_on");
    EXPECT_EQ(OpensReasoning({prompt, {}}, *markers), opens);
    EXPECT_FALSE(OpensReasoning({RenderedRow(golden, "thinking_off"), {}}, *markers));
  }
}

/// Real templates of 24 families over 26 conversations, against what transformers made of them.
TEST(ChatTemplateReferenceTest, EveryTemplateRendersAndRefusesAsTheReference) {
  const std::string fixtures = LATTICE_REFERENCE_FIXTURES;
  if (fixtures.empty()) GTEST_SKIP() << "LATTICE_REFERENCE_FIXTURES is not set";
  const fs::path folder = fs::path(fixtures) / "chat_templates";
  const boost::json::value cases = Json(folder / "cases.json");
  const auto now = ParseCivilTime(Str(cases.at("now"))).value();
  std::size_t n_templates = 0, n_rows = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".jinja") continue;
    const std::string name = entry.path().stem();
    SCOPED_TRACE(name);
    ++n_templates;
    const boost::json::value golden = Json(folder / (name + ".json"));
    SpecialTokens tokens;
    for (const auto& [key, value] : golden.at("special_tokens").as_object()) {
      tokens.emplace_back(std::string(key), Str(value));
    }
    const auto compiled = ChatTemplate::Compile(Contents(entry.path()), tokens);
    ASSERT_TRUE(compiled) << compiled.error().message;
    const auto& rows = golden.at("rows").as_array();
    const auto& tests = cases.at("cases").as_array();
    ASSERT_EQ(rows.size(), tests.size());
    for (std::size_t i = 0; i < rows.size(); ++i, ++n_rows) {
      const auto& row = rows[i].as_object();
      ASSERT_EQ(row.at("id"), tests[i].at("id"));
      SCOPED_TRACE(Str(row.at("id")));
      const auto rendered = RenderCase(*compiled, tests[i].as_object(), now);
      if (const auto* text = row.if_contains("rendered")) {
        EXPECT_TRUE(rendered) << rendered.error().message;
        EXPECT_EQ(rendered ? rendered->text : "", Str(*text));
        continue;
      }
      EXPECT_FALSE(rendered) << rendered->text;
      if (!rendered && row.at("error") == "TemplateError") {
        EXPECT_EQ(rendered.error().message, Str(row.at("message")));
        EXPECT_EQ(rendered.error().code, ErrorCode::kInvalidArgument);
      } else if (!rendered) {
        RecordProperty(name + "." + Str(row.at("id")), rendered.error().message);
        EXPECT_TRUE(rendered.error().message.starts_with("chat template: line "))
            << rendered.error().message;
      }
    }
  }
  EXPECT_GE(n_templates, 24u);
  EXPECT_GE(n_rows, 24u * 26u);
}

}  // namespace
}  // namespace lattice::chat
