#include "chat/template_source.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/files.h"

namespace lattice::chat {
namespace {

namespace fs = std::filesystem;

class TemplateSourceTest : public testing::Test {
 protected:
  TemplateSourceTest()
      : folder_(fs::path(testing::TempDir()) /
                ("chat_template_" +
                 std::string(testing::UnitTest::GetInstance()->current_test_info()->name()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~TemplateSourceTest() override { fs::remove_all(folder_); }

  void Write(const std::string& name, std::string_view content) {
    ASSERT_TRUE(WriteFileAtomically(folder_ / name, content));
  }
  std::string Find(const TemplateChoice& choice = {}) {
    auto templates = FindChatTemplates(folder_);
    if (!templates) return templates.error().message;
    const auto found = ChooseTemplate(*std::move(templates), choice, "model");
    if (!found) return found.error().message;
    return *found ? (*found)->text : "none";
  }

  fs::path folder_;
};

TEST_F(TemplateSourceTest, TheFilesAreTriedInOrder) {
  EXPECT_EQ(Find(), "none");
  Write("tokenizer_config.json", R"({"chat_template": "C"})");
  EXPECT_EQ(Find(), "C");
  Write("chat_template.json", R"({"chat_template": "J"})");
  EXPECT_EQ(Find(), "J");
  Write("chat_template.jinja", "F\n");
  EXPECT_EQ(Find(), "F\n");
}

TEST_F(TemplateSourceTest, NamedTemplatesAreChosenByUse) {
  Write("tokenizer_config.json", R"({"chat_template": [{"name": "default", "template": "D"},
      {"name": "tool_use", "template": "T"}, {"name": "rag", "template": "R"}]})");
  EXPECT_EQ(Find(), "D");
  EXPECT_EQ(Find({.with_tools = true}), "T");
  EXPECT_EQ(Find({.name = "rag", .with_tools = true}), "R");
  EXPECT_EQ(Find({.name = "other"}),
            "model: no chat template is called 'other'; there are: default, tool_use, rag");
  Write("tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": "R"}]})");
  EXPECT_EQ(Find(), "model: no chat template is called 'default'; there are: rag");
  EXPECT_EQ(Find({.name = "rag"}), "R");
  EXPECT_EQ(Find({.with_tools = true}),
            "model: no chat template is called 'default'; there are: rag");
  Write("tokenizer_config.json", R"({"chat_template": []})");
  EXPECT_EQ(Find(), "none");
  EXPECT_EQ(Find({.name = "rag"}), "model: no chat template is called 'rag'; there are none");
  Write("tokenizer_config.json", R"({"chat_template": [{"name": "rag"}]})");
  EXPECT_NE(Find().find("tokenizer_config.json: chat_template[0]"), std::string::npos) << Find();
  Write("tokenizer_config.json", R"({"chat_template": 5})");
  EXPECT_NE(Find().find("tokenizer_config.json: chat_template"), std::string::npos);
}

TEST_F(TemplateSourceTest, FurtherTemplatesHaveAFolder) {
  Write("tokenizer_config.json", R"({"chat_template": "C"})");
  fs::create_directories(folder_ / "additional_chat_templates");
  Write("additional_chat_templates/notes.txt", "no template");
  EXPECT_EQ(Find(), "C");
  Write("chat_template.jinja", "D");
  Write("additional_chat_templates/tool_use.jinja", "T");
  Write("additional_chat_templates/rag.jinja", "R");
  EXPECT_EQ(Find(), "D");
  EXPECT_EQ(Find({.with_tools = true}), "T");
  EXPECT_EQ(Find({.name = "rag"}), "R");
  EXPECT_EQ(Find({.name = "notes"}),
            "model: no chat template is called 'notes'; there are: default, rag, tool_use");
}

TEST_F(TemplateSourceTest, SpecialTokensAreStringsOrObjects) {
  Write("tokenizer_config.json", R"({"bos_token": "<s>", "eos_token": {"content": "</s>"},
      "pad_token": null, "add_bos_token": true})");
  Write("special_tokens_map.json", R"({"bos_token": "other", "pad_token": {"content": "<p>"}})");
  const auto tokens = ReadSpecialTokens(folder_);
  ASSERT_TRUE(tokens) << tokens.error().message;
  const SpecialTokens expected = {
      {"bos_token", "<s>"}, {"eos_token", "</s>"}, {"pad_token", "<p>"}};
  EXPECT_EQ(*tokens, expected);
}

}  // namespace
}  // namespace lattice::chat
