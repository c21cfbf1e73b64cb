#include "chat/tools/call_form.h"

namespace lattice::chat {

std::optional<CallForm> FindCallForm(std::string_view template_source) {
  const auto has = [&](std::string_view text) {
    return template_source.find(text) != template_source.npos;
  };
  if (has("<function=")) return CallForm::kXml;
  if (has("[TOOL_CALLS]")) return CallForm::kMistral;
  if (has("<|tool_call>call:")) return CallForm::kGemma;
  if (has("<tool_call>") && has("arguments") && !has("<arg_key>")) return CallForm::kHermes;
  if (has("\"parameters\": ") && has("ipython")) return CallForm::kLlama;
  return std::nullopt;
}

std::vector<std::string> CallMarkers(CallForm form) {
  switch (form) {
    case CallForm::kHermes:
    case CallForm::kXml:
      return {"<tool_call>", "</tool_call>"};
    case CallForm::kLlama:
      return {"<|python_tag|>"};
    case CallForm::kGemma:
      return {"<|tool_call>", "<tool_call|>", "<|\"|>"};
    case CallForm::kMistral:
      return {"[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"};
  }
  return {};
}

}  // namespace lattice::chat
