// The input is a template; it runs with small limits over fixed data of every type.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "chat/chat_template.h"
#include "lattice/check.h"

namespace {

constexpr std::string_view kData = R"({"messages": [
  {"role": "system", "content": "Be né."},
  {"role": "user", "content": [{"type": "text", "text": "<|end|> q"}, {"type": "image"}]},
  {"role": "assistant", "content": null, "reasoning_content": "hm",
   "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": {"a": [1, 2.5, true]}}}]},
  {"role": "tool", "tool_call_id": "c1", "content": "{\"x\": -1e300}"}],
  "tools": [{"function": {"name": "f", "parameters": {"type": ["string", "null"]}}}]})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace jinja = lattice::chat::jinja;
  using lattice::chat::ChatTemplate;
  using lattice::chat::RenderOptions;
  jinja::Limits limits;
  limits.max_steps = 20'000;
  limits.max_output_bytes = 1 << 16;
  limits.max_string_bytes = 1 << 16;
  limits.max_list_items = 2'000;
  limits.max_built_bytes = 8 << 20;
  const auto compiled = ChatTemplate::Compile({reinterpret_cast<const char*>(data), size},
                                              {{"bos_token", "<s>"}}, limits);
  if (!compiled) return 0;
  const auto json = lattice::ParseJson(kData);
  const auto talk = lattice::chat::ConversationFromJson(lattice::JsonView(*json, "fuzz"));
  RenderOptions options;
  options.now = jinja::CivilTime{2026, 1, 15, 12, 34, 56};
  const auto prompt = compiled->Render(*talk, options);
  if (!prompt) return 0;
  std::size_t at = 0;
  for (const lattice::chat::ByteRange range : prompt->user_ranges) {
    LATTICE_CHECK(at <= range.begin && range.begin < range.end);
    at = range.end;
  }
  LATTICE_CHECK(at <= prompt->text.size());
  return 0;
}
